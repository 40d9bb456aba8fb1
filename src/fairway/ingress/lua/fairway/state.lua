-- What the controller has told us: one entry for a host, a backend, a certificate. Shared by all workers;
-- each keeps what it has decoded, and looks again only where something has changed since.
local cjson = require "cjson.safe"

local shared = ngx.shared.fairway
local decoded = {}
local _M = {}

-- Changes with every change.
function _M.version()
    return shared:get("version") or 0
end

-- The value of an entry as of a version, or nil.
function _M.get(key, version)
    version = version or shared:get("version") or 0
    local known = decoded[key]
    if known and known.version == version then
        return known.value
    end
    local text = shared:get(key)
    if not text then
        decoded[key] = nil
        return nil
    end
    if known and known.text == text then
        known.version = version
        return known.value
    end
    local value = cjson.decode(text)
    decoded[key] = { version = version, text = text, value = value }
    return value
end

-- Take in a change: entries to set and entries to forget. All or, if memory runs out, an error.
function _M.change(set, forget)
    for key, text in pairs(set) do
        local done, problem = shared:safe_set(key, text)
        if not done then
            return nil, "no room for " .. key .. ": " .. tostring(problem)
        end
    end
    for _, key in ipairs(forget) do
        shared:delete(key)
    end
    shared:incr("version", 1, 0)
    return true
end

function _M.keys()
    local keys = {}
    for _, key in ipairs(shared:get_keys(0)) do
        if key ~= "version" then
            keys[#keys + 1] = key
        end
    end
    return keys
end

-- On start: what was in force when it was last saved, so that requests are served before anyone tells us.
function _M.load(path)
    local file = io.open(path, "rb")
    if not file then
        return
    end
    local entries = cjson.decode(file:read("*a"))
    file:close()
    if type(entries) == "table" then
        _M.change(entries, {})
    end
end

return _M
