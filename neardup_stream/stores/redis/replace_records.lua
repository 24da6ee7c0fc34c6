-- Writes each page record if what is stored is still what its writer saw.
-- KEYS[i] is the hash of change i; ARGV[1] the handles, 8 bytes each; then three for each change: what the
-- writer saw, empty for nothing; the new record; twice the version floor it knows, plus 1 if it knows that a
-- record of this handle was dropped. See records.py for what stands under the empty field.
-- Returns false where the new record is stored; what is stored instead; where nothing is, what the writer has
-- to know, in the form of the third argument.

-- Whether a handle is among those whose records were dropped.
local function was_dropped(slot, handle, at)
  local kind, last = string.sub(slot, at, at), string.sub(handle, 7)
  if kind ~= ':' then
    return kind == '*'
  end
  local found = string.find(slot, last, at + 1, true)
  while found and (found - at) % 2 == 0 do
    found = string.find(slot, last, found + 1, true)
  end
  return found ~= nil
end

-- What the first writer of a record has to know of its slot.
local function known(slot, handle)
  local floor = string.match(slot, '^%d+')
  return 2 * tonumber(floor) + (was_dropped(slot, handle, #floor + 1) and 1 or 0)
end

local answers = {}
for i = 1, #KEYS do
  local handle = string.sub(ARGV[1], 8 * i - 7, 8 * i)
  local seen, new = ARGV[3 * i - 1], ARGV[3 * i]
  local now, slot = unpack(redis.call('HMGET', KEYS[i], handle, ''))
  if now == new then
    answers[i] = false
  elseif now then
    answers[i] = now ~= seen and now
  else
    local wanted = slot and known(slot, handle) or 0
    answers[i] = (seen ~= '' or wanted ~= tonumber(ARGV[3 * i + 1])) and wanted
  end
  if answers[i] == false and now ~= new then
    redis.call('HSET', KEYS[i], handle, new)
  end
end
return answers
