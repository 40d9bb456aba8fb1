-- The certificate for the name a client asks for; without one, the default of the configuration is served.
local ssl = require "ngx.ssl"
local state = require "fairway.state"

local _M = {}
local parsed = setmetatable({}, { __mode = "k" })

local function named(host)
    state.refresh()
    local secret = state.get("sni:" .. host)
    if not secret then
        local dot = host:find(".", 1, true)
        secret = dot and state.get("sni:*" .. host:sub(dot))
    end
    return secret and state.get("certificate:" .. secret)
end

local function ready(pair)
    local known = parsed[pair]
    if not known then
        local chain, problem = ssl.parse_pem_cert(pair.certificate)
        local key, other = ssl.parse_pem_priv_key(pair.key)
        if not chain or not key then
            ngx.log(ngx.ERR, "a certificate can't be used: ", problem or other)
        end
        known = { chain = chain, key = key }
        parsed[pair] = known
    end
    return known
end

function _M.choose()
    local name = ssl.server_name()
    local pair = name and named(name:lower())
    if not pair then
        return
    end
    local known = ready(pair)
    if not known.chain or not known.key then
        return
    end
    ssl.clear_certs()
    if not ssl.set_cert(known.chain) or not ssl.set_priv_key(known.key) then
        ngx.log(ngx.ERR, "the certificate for ", name, " can't be used")
    end
end

return _M
