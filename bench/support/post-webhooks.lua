-- Posts webhooks of 2 KiB whose ids do not repeat. Only the id is written anew, because wrk shares the processors.
-- PAUSE_MS is the mean pause of a connection before each webhook, milliseconds.
local count = 0
local seed = os.time() .. "-" .. tostring({}):sub(8)
local id = string.rep("0", 12)
local before, after
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
function init()
  local filler = string.rep("x", 1990)
  local whole = wrk.format(nil, nil, nil, '{"id":"evt_' .. seed .. id .. '","data":"' .. filler .. '"}')
  local at = whole:find(seed .. id, 1, true) + #seed
  before, after = whole:sub(1, at - 1), whole:sub(at + #id)
end
function request()
  count = count + 1
  return before .. string.format("%012d", count) .. after
end
local pause = tonumber(os.getenv("PAUSE_MS") or "0")
if pause > 0 then
  function delay()
    return math.random(0, 2 * pause)
  end
end
