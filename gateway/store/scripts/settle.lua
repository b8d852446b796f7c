-- Closes a reservation with what was used. One that has expired meanwhile is
-- charged in full, since what it held was given back. One that is not known was
-- settled before, unless fields are given: then it was admitted without Redis, and
-- is charged once.
-- ARGV: id, input, output, cost (2), then the fields.
local now = clock()
local id = ARGV[1]
local text = redis.call('HGET', KEYS[3], id)
local record
if text then
  record = words(text)
elseif #ARGV > 5 then
  record = {'late'}
  for i = 6, #ARGV do record[#record + 1] = ARGV[i] end
end
if not record or record[1] == 'done' then return 0 end

settle(record, now, tonumber(ARGV[2]), tonumber(ARGV[3]), {tonumber(ARGV[4]), tonumber(ARGV[5])})
if text then
  forget(id)
else
  keep(id, 'done', now + DAY)
end
save()
return 1
