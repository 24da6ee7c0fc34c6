-- Raises the offset below which the rows of a partition are gone, and removes about one block of rows below
-- it; the pages that they decided begin to age.
-- KEYS[1] hash of trimmed offsets and counts, KEYS[2] list of aging pages, KEYS[3] rows of the partition,
-- KEYS[4] hash of the offsets below which all rows lie, KEYS[4 + i] the hash of expected cell i
-- ARGV[1] the partition's name, ARGV[2] the offset, ARGV[3] the cursor, ARGV[4] the offsets of a block; then two
-- for each expected cell: its field, its value
-- Returns the next cursor, '0' where every block was seen; and 1 where some are left at the same cursor. Returns
-- false where an expected cell has another value: nothing is done.
local call, sub, unpack_struct = redis.call, string.sub, struct.unpack
for i = 5, #KEYS do
  if call('HGET', KEYS[i], ARGV[2 * i - 5]) ~= ARGV[2 * i - 4] then
    return false
  end
end
local offset = tonumber(ARGV[2])
local stamp = struct.pack('>I4', call('TIME')[1])
local HEAD, PAGE = 12, 14

if offset > tonumber(call('HGET', KEYS[1], ARGV[1]) or 0) then
  call('HSET', KEYS[1], ARGV[1], ARGV[2])
end

-- A block is removed as a whole: once all its offsets are below, or where no row is at this offset or above.
-- As cluster_cells.pack_ceiling packs it: behind a rank.
local ceiling = tonumber(sub(call('HGET', KEYS[4], ARGV[1]) or '', 7)) or 0
local end_block = offset >= ceiling and math.huge or math.floor(offset / ARGV[4])

-- A scan may return more than it is asked for.
local BLOCKS, BYTES = 4, 1048576
local removed, bytes, is_left = 0, 0, 0
local cursor, blocks = unpack(call('HSCAN', KEYS[3], ARGV[3], 'COUNT', 1))
for i = 1, #blocks, 2 do
  -- One that continues block 7 is named 7.1 or so: below 8, and not below 7.
  if tonumber(blocks[i]) >= end_block then
    -- It stays.
  elseif removed == BLOCKS or bytes >= BYTES then
    cursor, is_left = ARGV[3], 1
    break
  else
    removed = removed + 1
    local block, at = blocks[i + 1], 1
    bytes = bytes + #block
    while at <= #block do
      local rank, page_count, size = sub(block, at, at + 5), unpack_struct('>I2I4', block, at + 6)
      local pages_end = at + HEAD + PAGE * page_count
      if page_count > 0 then
        call('RPUSH', KEYS[2], stamp .. rank .. sub(block, at + HEAD, pages_end - 1))
      end
      at = pages_end + size
    end
    call('HDEL', KEYS[3], blocks[i])
  end
end

call('HSET', KEYS[1], 'aged', (call('HGET', KEYS[1], 'swept') or 0) + call('LLEN', KEYS[2]))
return { cursor, is_left }
