-- KEYS[1] list of aging pages; ARGV[1] seconds that a page ages, ARGV[2] most pages to return
-- Returns the oldest entries that have aged enough, at least one: each a rank (6 bytes) and of one page or more
-- its rank from there on (2), a handle (8) and the digest of a text (4).
-- An entry with a time far in the future is from when the clock was ahead, and is due.
local now, seconds, room = tonumber(redis.call('TIME')[1]), tonumber(ARGV[1]), tonumber(ARGV[2])
local due, at, ENTRIES, HEAD, PAGE = {}, 0, 16, 10, 14
while true do
  local entries = redis.call('LRANGE', KEYS[1], at, at + ENTRIES - 1)
  for _, entry in ipairs(entries) do
    room = room - (#entry - HEAD) / PAGE
    local since = struct.unpack('>I4', entry)
    if (since > now - seconds and since <= now + @AHEAD_SECONDS@) or (room < 0 and due[1]) then
      return due
    end
    due[#due + 1] = string.sub(entry, 5)
  end
  at = at + ENTRIES
  if #entries < ENTRIES then
    return due
  end
end
