-- Keeps open reservations from expiring: their holder lives.
-- ARGV: lease in µs, then ids.
local till = string.format('%.0f', clock() + tonumber(ARGV[1]))
for i = 2, #ARGV do
  local record = redis.call('HGET', KEYS[3], ARGV[i])
  if record and string.sub(record, 1, 5) == 'open ' then redis.call('ZADD', KEYS[2], 'XX', till, ARGV[i]) end
end
return 0
