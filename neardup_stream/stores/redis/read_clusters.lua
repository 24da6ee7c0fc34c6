-- Reads cells and members. Both arguments are items one behind the other: number of a key in KEYS (4 bytes),
-- length (2) and field, length (4) and value.
-- ARGV[1] the cells: hash, field, nothing
-- ARGV[2] the ranges: sorted set, cluster key and perhaps more of the member before the first one, limit
-- Returns { values, false for nothing; members, one list for each range }.
local function items(packed)
  local at = 1
  return function()
    if at <= #packed then
      local key, field, value
      key, field, value, at = struct.unpack('>I4I2c0I4c0', packed, at)
      return KEYS[key], field, value
    end
  end
end

local values, members = {}, {}
for key, field in items(ARGV[1]) do
  values[#values + 1] = redis.call('HGET', key, field)
end
for key, before, limit in items(ARGV[2]) do
  local low = (#before == 12 and '[' or '(') .. before
  local high = '[' .. string.sub(before, 1, 12) .. string.rep('\255', 18)
  members[#members + 1] = redis.call('ZRANGE', key, low, high, 'BYLEX', 'LIMIT', 0, limit)
end
return { values, members }
