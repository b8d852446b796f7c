-- Returns scopes as they are now. ARGV: their fields.
local now = clock()
reclaim(now)
local reply = {1, string.format('%.0f', now)}
for i = 1, #ARGV do reply[#reply + 1] = pack(load(ARGV[i], now)) end
save()
return reply
