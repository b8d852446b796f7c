-- Returns scopes as they are now. ARGV: for each its field, and requests, input and
-- output a minute.
local now = clock()
reclaim(now)
local reply = {1, string.format('%.0f', now), redis.call('HGET', KEYS[1], 'birth') or ''}
for i = 1, #ARGV, 4 do
  local s = load(ARGV[i], now)
  resize(s.requests, tonumber(ARGV[i + 1]))
  resize(s.input, tonumber(ARGV[i + 2]))
  resize(s.output, tonumber(ARGV[i + 3]))
  reply[#reply + 1] = pack(s)
end
save()
return reply
