-- KEYS[1] the lease; ARGV[1] its holder, ARGV[2] how often it was renewed, ARGV[3] milliseconds
-- Returns nothing where the lease is the holder's now, else what another holder has written.
local held = redis.call('GET', KEYS[1])
local own = ARGV[1] .. ' '
-- One that lasts longer was taken or renewed before the clock was set back; its holder renews it again.
local is_over = redis.call('PTTL', KEYS[1]) > tonumber(ARGV[3])
if held and not is_over and string.sub(held, 1, #own) ~= own then
  return held
end
redis.call('SET', KEYS[1], own .. ARGV[2], 'PX', ARGV[3])
return false
