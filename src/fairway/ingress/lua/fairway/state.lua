-- What the controller has told us: one entry for a host, a backend, a certificate. Shared by all workers;
-- each keeps what it has decoded, and looks again only where something has changed since.
local cjson = require "cjson.safe"
local entries = require "fairway.entries"

local shared = ngx.shared.fairway
local _M = {}

-- By key, with the text that each was decoded from.
local decoded = {}
-- What was found since the last change, so that most requests need not even make a key.
local hosts, backends = {}, {}
local seen = 0

-- To be called before anything is asked for: from here on it is as of the latest change.
function _M.refresh()
    local version = shared:get("version") or 0
    if version ~= seen then
        seen, hosts, backends = version, {}, {}
    end
end

local function decode(key, text)
    local value = cjson.decode(text)
    local prepare = entries[key:match("^%a+")]
    if value and prepare then
        prepare(value)
    end
    return value
end

-- The value of an entry, or nil.
function _M.get(key)
    local known = decoded[key]
    if known and known.version == seen then
        return known.value
    end
    local text = shared:get(key)
    if not text then
        decoded[key] = nil
        return nil
    end
    if known and known.text == text then
        known.version = seen
        return known.value
    end
    local value = decode(key, text)
    decoded[key] = { version = seen, text = text, value = value }
    return value
end

local function find(found, prefix, name)
    local known = found[name]
    if not known then
        known = _M.get(prefix .. name)
        found[name] = known
    end
    return known
end

function _M.host(name)
    return find(hosts, "host:", name)
end

function _M.backend(name)
    return find(backends, "backend:", name)
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
    local saved = cjson.decode(file:read("*a"))
    file:close()
    if type(saved) == "table" then
        _M.change(saved, {})
    end
end

return _M
