-- Reads cells and members. ARGV[1] is the number of cells.
-- KEYS[i], ARGV[1 + i]            hash and field of cell i
-- then for each range its set in KEYS, and in ARGV the cluster key and the limit (-1: all)
-- Returns { values, false for nothing; members, one list for each range }.
local count = tonumber(ARGV[1])
local values, ranges = {}, {}
for i = 1, count do
  values[i] = redis.call('HGET', KEYS[i], ARGV[1 + i])
end
local at = count + 2
for i = count + 1, #KEYS do
  local low = '[' .. ARGV[at]
  ranges[#ranges + 1] = redis.call(
    'ZRANGE', KEYS[i], low, low .. string.rep('\255', 14), 'BYLEX', 'LIMIT', 0, ARGV[at + 1])
  at = at + 2
end
return { values, ranges }
