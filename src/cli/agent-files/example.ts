/** The agent file that `postern config init` writes. Lines with `#` and no space after it are settings to uncomment. */
export const exampleFile = `# Agent file of Postern. \`postern config check\` checks it, \`postern start --all\` starts every tunnel in it.
# Remove the # in front of a setting to use it. Paths are relative to this file.

# The server's agent listener. \`postern join CODE\` sets server, ca and authtoken.
#server: t.example.com:4443
# PEM file with the server's CA, or system for the system's CAs.
#ca: t.example.com.pem
# Agent token. Keep this file readable only by its owner.
#authtoken: postern_at_…

# Free text that the server shows with this agent.
#session_metadata: build-3
# debug, info, warn or error.
#log_level: info
# Parallel sessions with the server.
#connections: 2

tunnels:
  # The name for \`postern start web\`.
  web:
    proto: http
    # Port, HOST:PORT or URL of the service, unix:PATH, or file:///DIR for a directory.
    addr: 3000
    # Public URL. Without it, the server chooses one.
    #url: https://app.t.example.com
    # Users and passwords of at least 8 bytes.
    #basic_auth: ["ann:correct horse"]
    # Login with a provider. The server needs an app for the provider (--oauth-apps).
    #oauth:
      #provider: github
      #allow_domains: [example.com]
    # Addresses that have access.
    #ip_restriction:
      #allow_cidrs: [192.0.2.0/24, 2001:db8::/32]
    # Header fields for the service.
    #request_header:
      #add: ["x-team:web"]
    #compression: true
    # A traffic policy (docs/guides/policies.md).
    #traffic_policy_file: policy.yaml

  # Several services at one URL: paths of other services follow the first one.
  #docs:
    #proto: http
    #addr: [3001, "/api=3002"]

  # A TCP service at a reserved address of the server.
  #database:
    #proto: tcp
    #addr: 5432
    #remote_addr: t.example.com:20022

  # A service behind edges whose backend selects these labels.
  #behind-edges:
    #addr: localhost:8080
    #labels: [app=web, dc=eu]
`;
