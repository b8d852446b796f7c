-- Takes what a request may use from every scope, or nothing from any.
-- ARGV: id, lease in µs, input, output, cost (2), the least output and cost (2) that it
-- takes where there is not as much left, how many requests it counts as (1, or 0 when
-- it was counted before), then for each scope its field, requests, input and output a
-- minute, slots, a day's (2) and a month's budget (2).
-- Returns whether it was admitted, the time with the output and cost (2) that it got,
-- the birth of the counters, and the scopes after it.
local now = clock()
reclaim(now)
local input, output, cost = tonumber(ARGV[3]), tonumber(ARGV[4]), {tonumber(ARGV[5]), tonumber(ARGV[6])}
local least_output, least_cost = tonumber(ARGV[7]), {tonumber(ARGV[8]), tonumber(ARGV[9])}
local requests = tonumber(ARGV[10])

local function spare_money(s, spent, limit)
  if limit[1] == 0 and limit[2] == 0 then return end
  local left = subtract(limit, add(spent, s.held))
  if less(left, cost) then cost = left end
end

-- Cuts output and cost to what the scope has left.
local function spare(s, n)
  if s.output[1] > 0 then output = math.min(output, s.output[2]) end
  spare_money(s, s.day_spent, {n[5], n[6]})
  spare_money(s, s.month_spent, {n[7], n[8]})
end

local function has(b, n) return b[1] == 0 or b[2] >= n end

local function affords(s, spent, limit)
  if limit[1] == 0 and limit[2] == 0 then return true end
  if not less(spent, limit) then return false end
  return not less(limit, add(add(spent, s.held), cost))
end

local function admits(s, n)
  if not has(s.requests, requests) then return false end
  if not has(s.input, input) then return false end
  if not has(s.output, output) then return false end
  if n[4] > 0 and s.open >= n[4] then return false end
  if not affords(s, s.day_spent, {n[5], n[6]}) then return false end
  return affords(s, s.month_spent, {n[7], n[8]})
end

local fields, bounds, fits = {}, {}, true
for i = 11, #ARGV, 9 do
  local n = {}
  for j = 1, 8 do n[j] = tonumber(ARGV[i + j]) end
  local s = load(ARGV[i], now)
  fields[#fields + 1], bounds[#bounds + 1] = ARGV[i], n
  resize(s.requests, n[1])
  resize(s.input, n[2])
  resize(s.output, n[3])
  spare(s, n)
end
output = math.max(output, least_output)
if less(cost, least_cost) then cost = least_cost end
for i, field in ipairs(fields) do
  if not admits(scopes[field], bounds[i]) then fits = false end
end

local granted = string.format('%.0f %.0f %.0f', output, cost[1], cost[2])

if fits then
  for _, field in ipairs(fields) do
    local s = scopes[field]
    settle_bucket(s.requests, 0, requests)
    settle_bucket(s.input, 0, input)
    settle_bucket(s.output, 0, output)
    s.open = s.open + 1
    s.held = add_capped(s.held, cost)
  end
  keep(ARGV[1], table.concat({'open', ARGV[3], granted, table.concat(fields, ' ')}, ' '), now + tonumber(ARGV[2]))
end
save()

local reply = {fits and 1 or 0, string.format('%.0f ', now) .. granted, birth(ARGV[1])}
for _, field in ipairs(fields) do reply[#reply + 1] = pack(scopes[field]) end
return reply
