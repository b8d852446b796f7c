-- Raises what a scope has spent to what a ledger knows of.
-- ARGV: field, the day's sum (2), the month's (2), an id. Returns the birth of the
-- counters.
local s = load(ARGV[1], clock())
local day, month = {tonumber(ARGV[2]), tonumber(ARGV[3])}, {tonumber(ARGV[4]), tonumber(ARGV[5])}
if less(s.day_spent, day) then s.day_spent = day end
if less(s.month_spent, month) then s.month_spent = month end
save()
return birth(ARGV[6])
