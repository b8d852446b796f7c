-- Takes what a request may use from every scope, or nothing from any.
-- ARGV: id, lease in µs, input, output, cost (2), then for each scope its field,
-- requests, input and output a minute, slots, a day's (2) and a month's budget (2).
-- Returns whether it was admitted, the time, the birth of the counters, and the scopes
-- after it.
local now = clock()
reclaim(now)
local input, output, cost = tonumber(ARGV[3]), tonumber(ARGV[4]), {tonumber(ARGV[5]), tonumber(ARGV[6])}

local function has(b, n) return b[1] == 0 or b[2] >= n end

local function affords(s, spent, limit)
  if limit[1] == 0 and limit[2] == 0 then return true end
  if not less(spent, limit) then return false end
  return not less(limit, add(add(spent, s.held), cost))
end

local function admits(s, n)
  if not has(s.requests, 1) then return false end
  if not has(s.input, input) then return false end
  if not has(s.output, output) then return false end
  if n[4] > 0 and s.open >= n[4] then return false end
  if not affords(s, s.day_spent, {n[5], n[6]}) then return false end
  return affords(s, s.month_spent, {n[7], n[8]})
end

local fields, fits = {}, true
for i = 7, #ARGV, 9 do
  local n = {}
  for j = 1, 8 do n[j] = tonumber(ARGV[i + j]) end
  local s = load(ARGV[i], now)
  fields[#fields + 1] = ARGV[i]
  resize(s.requests, n[1])
  resize(s.input, n[2])
  resize(s.output, n[3])
  if not admits(s, n) then fits = false end
end

if fits then
  for _, field in ipairs(fields) do
    local s = scopes[field]
    settle_bucket(s.requests, 0, 1)
    settle_bucket(s.input, 0, input)
    settle_bucket(s.output, 0, output)
    s.open = s.open + 1
    s.held = add_capped(s.held, cost)
  end
  keep(ARGV[1], table.concat({'open', ARGV[3], ARGV[4], ARGV[5], ARGV[6], table.concat(fields, ' ')}, ' '), now + tonumber(ARGV[2]))
end
save()

local reply = {fits and 1 or 0, string.format('%.0f', now), birth(ARGV[1])}
for _, field in ipairs(fields) do reply[#reply + 1] = pack(scopes[field]) end
return reply
