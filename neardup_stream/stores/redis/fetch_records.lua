-- The page records of some handles. KEYS[i] is the hash of handle i, ARGV[1] the handles, 8 bytes each.
-- Returns one value or false for each.
local values = {}
for i = 1, #KEYS do
  values[i] = redis.call('HGET', KEYS[i], string.sub(ARGV[1], 8 * i - 7, 8 * i))
end
return values
