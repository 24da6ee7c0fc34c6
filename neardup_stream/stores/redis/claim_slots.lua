-- Claims the slots that are due next, in rounds through all of them.
-- KEYS[1] how many slots were ever claimed; ARGV[1] most to claim, ARGV[2] slots of the index, ARGV[3] seconds of
-- a round
-- Returns the number of the first one among all that were ever claimed, how many, seconds and microseconds of the
-- server's clock, and how many were due.
local limit, slots, round_seconds = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local due = math.floor((time[1] + time[2] / 1000000) / round_seconds * slots)
local claimed = tonumber(redis.call('GET', KEYS[1]) or due - slots)
-- Whole rounds that were not swept are left out, but for one, so that the sweep still counts as behind; so are
-- those of a faster pace that was set before.
if due - claimed >= 2 * slots then
  claimed = claimed + (math.floor((due - claimed) / slots) - 1) * slots
elseif claimed > due + slots then
  claimed = claimed - math.ceil((claimed - due) / slots) * slots
end
local behind = math.max(0, due - claimed)
local count = math.min(limit, behind, slots - claimed % slots)
if count > 0 then
  redis.call('SET', KEYS[1], string.format('%.0f', claimed + count))
end
return { string.format('%.0f', claimed), count, time[1], time[2], behind }
