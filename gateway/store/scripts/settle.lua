-- Closes a reservation with what was used. One that has expired meanwhile is
-- charged in full, since what it held was given back. One that is not known was
-- lost, and is charged in full, too; unless Redis may have heard of its settlement
-- before, and has not lost its counters since: then it was settled.
-- ARGV: id, input, output, cost (2), "first" or "again", the birth of the counters that
-- it was taken from, then for each scope its field, and requests, input and output a
-- minute.
-- Returns 0 for one that was settled before, 1, or 2 for one that was lost.
local now = clock()
local id = ARGV[1]
local text = redis.call('HGET', KEYS[3], id)
local record
if text then
  record = words(text)
elseif ARGV[6] == 'first' or redis.call('HGET', KEYS[1], 'birth') ~= ARGV[7] then
  record = {'late'}
  for i = 8, #ARGV, 4 do
    record[#record + 1] = ARGV[i]
    begin(load(ARGV[i], now), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3]))
  end
end
if not record or record[1] == 'done' then return 0 end

settle(record, now, tonumber(ARGV[2]), tonumber(ARGV[3]), {tonumber(ARGV[4]), tonumber(ARGV[5])})
if text then
  forget(id)
else
  keep(id, 'done', now + DAY)
end
birth(id)
save()
return text and 1 or 2
