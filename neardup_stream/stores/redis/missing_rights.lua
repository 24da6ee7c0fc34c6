-- The commands, from the second of ARGV on, that this user may not run on the key that is the first: named there,
-- because a key of KEYS that is not allowed ends the script before it begins. None before Redis 7, which cannot check.
-- The zeros stand for further arguments, of which each command takes what it needs; `del` and
-- `unlink` take all for keys.
local missing = {}
for i = 2, #ARGV do
  local takes_keys = ARGV[i] == 'del' or ARGV[i] == 'unlink'
  local arguments = takes_keys and {} or {'0', '0', '0'}
  if redis.acl_check_cmd and not redis.acl_check_cmd(ARGV[i], ARGV[1], unpack(arguments)) then
    missing[#missing + 1] = ARGV[i]
  end
end
return missing
