-- Removes members from their sorted sets; what is not there is passed over.
-- KEYS[i] is the set of member i; ARGV[1] the members, 18 bytes each: rest_bytes (1) | rest (8, big-endian) |
-- handle (8) | version byte (1). A member is (the last rest_bytes of its rest, handle, version byte).
-- Returns how many were there.
local removed = 0
for i = 1, #KEYS do
  local at = (i - 1) * 18
  local rest_bytes = string.byte(ARGV[1], at + 1)
  removed = removed + redis.call('ZREM', KEYS[i], string.sub(ARGV[1], at + 10 - rest_bytes, at + 18))
end
return removed
