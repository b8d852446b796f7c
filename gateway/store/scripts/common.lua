-- The rules of gateway/limit over counters in Redis. Times are whole microseconds
-- since 1970 by Redis's clock; everything is a whole number below 2^53, so that
-- Lua's doubles are exact. Money is a pair of whole dollars and billionths.
--
-- KEYS[1] is a hash with one field a scope, KEYS[2] the open reservations by the
-- time at which they expire, KEYS[3] what they reserved. All three are of one
-- tenant and lie in one slot of a cluster.

local MINUTE, STEP, BILLION = 60000000, 1048576, 1000000000
local LOWEST, RICHEST = -4503599627370496, 4000000000
local DAY = 86400000000
local KEPT = 35 * 86400 -- seconds that an idle tenant is remembered: longer than a month's budget
local fmod, floor = math.fmod, math.floor

local function clock()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000000 + tonumber(t[2])
end

local function numbers(text)
  local list = {}
  for n in string.gmatch(text, '%S+') do list[#list + 1] = tonumber(n) end
  return list
end

local function less(a, b) return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2]) end

local function add(a, b)
  local hi, lo = a[1] + b[1], a[2] + b[2]
  if lo >= BILLION then hi, lo = hi + 1, lo - BILLION end
  return {hi, lo}
end

local function add_capped(a, b)
  local sum = add(a, b)
  if sum[1] >= RICHEST then return {RICHEST, 0} end
  return sum
end

local function subtract(a, b)
  if less(a, b) then return {0, 0} end
  local hi, lo = a[1] - b[1], a[2] - b[2]
  if lo < 0 then hi, lo = hi - 1, lo + BILLION end
  return {hi, lo}
end

-- The day since 1970 and the month since the year 0 of a time, by the algorithm
-- civil_from_days of Howard Hinnant's "chrono-compatible low-level date algorithms".
local function calendar(now)
  local day = floor(now / DAY)
  local z = day + 719468
  local era = floor(z / 146097)
  local doe = z - era * 146097
  local yoe = floor((doe - floor(doe / 1460) + floor(doe / 36524) - floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + floor(yoe / 4) - floor(yoe / 100))
  local mp = floor((5 * doy + 2) / 153)
  local year, month = yoe + era * 400, mp + 3
  if month > 12 then year, month = year + 1, month - 12 end
  return day, year * 12 + month - 1
end

-- A bucket is {capacity, level, carry}; capacity 0 is no limit.
local function refill(b, elapsed)
  local capacity = b[1]
  if capacity == 0 or elapsed <= 0 then return end
  -- capacity × elapsed passes 2^53: long division, by 20 bits of the capacity.
  local rest = fmod(elapsed, MINUTE)
  local tokens = (elapsed - rest) / MINUTE * capacity
  local low = fmod(capacity, STEP)
  local product = (capacity - low) / STEP * rest
  local carry = fmod(product, MINUTE)
  tokens = tokens + (product - carry) / MINUTE * STEP
  product = carry * STEP + low * rest + b[3]
  carry = fmod(product, MINUTE)
  tokens = tokens + (product - carry) / MINUTE
  if tokens >= capacity - b[2] then
    b[2], b[3] = capacity, 0
  else
    b[2], b[3] = b[2] + tokens, carry
  end
end

local function settle_bucket(b, reserved, used)
  if b[1] > 0 then b[2] = math.max(math.min(b[2] + reserved - used, b[1]), LOWEST) end
end

local function resize(b, capacity)
  if b[1] == capacity then return end
  if b[1] == 0 or capacity == 0 or b[2] >= capacity then b[2], b[3] = capacity, 0 end
  b[1] = capacity
end

-- Fills buckets that were never used, so that they can be debited.
local function begin(s, requests, input, output)
  if s.requests[1] == 0 then resize(s.requests, requests) end
  if s.input[1] == 0 then resize(s.input, input) end
  if s.output[1] == 0 then resize(s.output, output) end
end

local scopes = {} -- by field, as far as they were loaded

local function load(field, now)
  local s = scopes[field]
  if s then return s end
  local text = redis.call('HGET', KEYS[1], field)
  local n = text and numbers(text) or {now, 0,0,0, 0,0,0, 0,0,0, 0, 0,0, 0,0,0, 0,0,0}
  s = {
    at = n[1], requests = {n[2], n[3], n[4]}, input = {n[5], n[6], n[7]}, output = {n[8], n[9], n[10]},
    open = n[11], held = {n[12], n[13]},
    day = n[14], day_spent = {n[15], n[16]}, month = n[17], month_spent = {n[18], n[19]},
  }
  -- A clock that was wrong by more than the minute in which all refills, and was set
  -- right, must not stop the refill until it is there again.
  if s.at > now + MINUTE then s.at = now end
  refill(s.requests, now - s.at)
  refill(s.input, now - s.at)
  refill(s.output, now - s.at)
  s.at = math.max(s.at, now)
  local day, month = calendar(now)
  if day > s.day then s.day, s.day_spent = day, {0, 0} end
  if month > s.month then s.month, s.month_spent = month, {0, 0} end
  scopes[field] = s
  return s
end

local function pack(s)
  local n = {
    s.at, s.requests[1], s.requests[2], s.requests[3], s.input[1], s.input[2], s.input[3], s.output[1], s.output[2], s.output[3],
    s.open, s.held[1], s.held[2], s.day, s.day_spent[1], s.day_spent[2], s.month, s.month_spent[1], s.month_spent[2],
  }
  for i = 1, #n do n[i] = string.format('%.0f', n[i]) end
  return table.concat(n, ' ')
end

local function save()
  for field, s in pairs(scopes) do redis.call('HSET', KEYS[1], field, pack(s)) end
  for i = 1, 3 do redis.call('EXPIRE', KEYS[i], KEPT) end
end

-- A record of KEYS[3] is a word and what was reserved: "open INPUT OUTPUT DOLLARS
-- BILLIONTHS FIELD…"; or "late FIELD…", of one that expired; or "done", of one that
-- must not be charged twice.
local function words(record)
  local list = {}
  for w in string.gmatch(record, '%S+') do list[#list + 1] = w end
  return list
end

-- Replaces what the record reserved by what was used, in every scope of it.
local function settle(record, now, input, output, cost)
  local first = record[1] == 'open' and 6 or 2
  for i = first, #record do
    local s = load(record[i], now)
    if record[1] == 'open' then
      s.open = math.max(s.open - 1, 0)
      settle_bucket(s.input, tonumber(record[2]), input)
      settle_bucket(s.output, tonumber(record[3]), output)
      s.held = subtract(s.held, {tonumber(record[4]), tonumber(record[5])})
    else
      settle_bucket(s.input, 0, input)
      settle_bucket(s.output, 0, output)
    end
    s.day_spent = add_capped(s.day_spent, cost)
    s.month_spent = add_capped(s.month_spent, cost)
  end
end

-- The birth of a tenant's counters: the first id that they heard of. Another one than
-- before says that Redis has lost them meanwhile.
local function birth(id)
  local known = redis.call('HGET', KEYS[1], 'birth')
  if not known then redis.call('HSET', KEYS[1], 'birth', id) end
  return known or id
end

local function keep(id, record, until_)
  redis.call('HSET', KEYS[3], id, record)
  redis.call('ZADD', KEYS[2], string.format('%.0f', until_), id)
end

local function forget(id)
  redis.call('HDEL', KEYS[3], id)
  redis.call('ZREM', KEYS[2], id)
end

-- Gives back what holders have reserved that let it expire. A few at a time: no
-- request should pay for many. Their settlements are awaited for another day.
local function reclaim(now)
  local expired = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now), 'LIMIT', 0, 16)
  for _, id in ipairs(expired) do
    local record = words(redis.call('HGET', KEYS[3], id) or 'done')
    if record[1] == 'open' then
      settle(record, now, 0, 0, {0, 0})
      keep(id, 'late ' .. table.concat(record, ' ', 6), now + DAY)
    else
      forget(id)
    end
  end
end
