-- Reads cells and members. Both arguments are items one behind the other: number of a key in KEYS (4 bytes),
-- length (2) and field, length (4) and value.
-- ARGV[1] the cells: hash, field, nothing
-- ARGV[2] the ranges: sorted set, cluster key and perhaps more of the member before the first one, limit
-- Returns { values, false for nothing, of the first cells up to @VALUE_BYTES@ bytes; members, one list for
-- each range }. The value with which there are so many bytes is the last one.
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

local values, members, size = {}, {}, 0
for key, field in items(ARGV[1]) do
  local value = redis.call('HGET', key, field)
  values[#values + 1] = value
  size = size + (value and #value or 0)
  if size >= @VALUE_BYTES@ then
    break
  end
end
for key, before, limit in items(ARGV[2]) do
  local low = '(' .. before
  local high = '[' .. string.sub(before, 1, 12) .. string.rep('\255', 18)
  members[#members + 1] = redis.call('ZRANGE', key, low, high, 'BYLEX', 'LIMIT', 0, limit)
end
return { values, members }
