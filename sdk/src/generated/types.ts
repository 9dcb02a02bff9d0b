/** The objects of the API, as they travel. */

/** A reference to another object. */
export interface Ref {
  readonly id: string;
  readonly uri: string;
}

/** A tenant. Every other object belongs to one account, and other accounts cannot see it. */
export interface Account {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable name; unique on the server. (at most 255 bytes; not blank) */
  readonly name: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /**
   * Host names that the operator grants to the account. These names and all names below need no other proof. (at most
   * 100)
   */
  readonly domains: readonly string[];
  /**
   * Whether the server captures requests here, see the capture guide. Null: as the edge, then the account, then the
   * server says.
   */
  readonly capture: Capture | null;
  /** The account's first API key. Returned only when the account is created, null afterwards. (at most 255 bytes) */
  readonly api_key: string | null;
  /**
   * The account's first agent token. Returned only when the account is created, null afterwards. (at most 255 bytes)
   */
  readonly authtoken: string | null;
}

/** A tenant. Every other object belongs to one account, and other accounts cannot see it. */
export interface AccountCreate {
  /** Human-readable name; unique on the server. (at most 255 bytes; not blank) */
  readonly name: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /**
   * Host names that the operator grants to the account. These names and all names below need no other proof. (at most
   * 100)
   */
  readonly domains?: readonly string[] | null | undefined;
  /**
   * Whether the server captures requests here, see the capture guide. Null: as the edge, then the account, then the
   * server says.
   */
  readonly capture?: CaptureReplace | null | undefined;
}

/** A tenant. Every other object belongs to one account, and other accounts cannot see it. */
export interface AccountUpdate {
  /** Human-readable name; unique on the server. (at most 255 bytes; not blank) */
  readonly name?: string | undefined;
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /**
   * Host names that the operator grants to the account. These names and all names below need no other proof. (at most
   * 100)
   */
  readonly domains?: readonly string[] | null | undefined;
  /**
   * Whether the server captures requests here, see the capture guide. Null: as the edge, then the account, then the
   * server says.
   */
  readonly capture?: CaptureReplace | null | undefined;
}

/**
 * Whether the server captures requests here, see the capture guide. Null: as the edge, then the account, then the
 * server says.
 */
export interface Capture {
  /** Whether requests are captured. */
  readonly enabled: boolean;
  /**
   * Share of forwarded and answered requests to capture, 0 to 1. Denied and failed requests are always captured, unless
   * it is 0. (0 to 1)
   */
  readonly sample: number;
  /** Hours to keep captured requests. (1 to 720) */
  readonly hours: number;
  /**
   * Names of further header fields whose values are replaced by keyed hashes. Credentials and cookies always are. (at
   * most 100)
   */
  readonly redact_headers: readonly string[];
  /** Names of query parameters whose values are replaced by keyed hashes. (at most 100) */
  readonly redact_query: readonly string[];
  /** Bytes of request bodies to keep, from their start. Default: none. (0 to 65536) */
  readonly body_bytes: number;
}

/**
 * Whether the server captures requests here, see the capture guide. Null: as the edge, then the account, then the
 * server says.
 */
export interface CaptureReplace {
  /** Whether requests are captured. */
  readonly enabled?: boolean | null | undefined;
  /**
   * Share of forwarded and answered requests to capture, 0 to 1. Denied and failed requests are always captured, unless
   * it is 0. (0 to 1)
   */
  readonly sample?: number | null | undefined;
  /** Hours to keep captured requests. (1 to 720) */
  readonly hours?: number | null | undefined;
  /**
   * Names of further header fields whose values are replaced by keyed hashes. Credentials and cookies always are. (at
   * most 100)
   */
  readonly redact_headers?: readonly string[] | null | undefined;
  /** Names of query parameters whose values are replaced by keyed hashes. (at most 100) */
  readonly redact_query?: readonly string[] | null | undefined;
  /** Bytes of request bodies to keep, from their start. Default: none. (0 to 65536) */
  readonly body_bytes?: number | null | undefined;
}

/** An identity for a program. API keys and agent tokens of a bot user work only while the bot user is active. */
export interface BotUser {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable name identifying the bot; unique in the account. (at most 255 bytes; not blank) */
  readonly name: string;
  /** Whether the bot is active. */
  readonly active: boolean;
}

/** An identity for a program. API keys and agent tokens of a bot user work only while the bot user is active. */
export interface BotUserCreate {
  /** Human-readable name identifying the bot; unique in the account. (at most 255 bytes; not blank) */
  readonly name: string;
  /** Whether the bot is active. */
  readonly active?: boolean | null | undefined;
}

/** An identity for a program. API keys and agent tokens of a bot user work only while the bot user is active. */
export interface BotUserUpdate {
  /** Human-readable name identifying the bot; unique in the account. (at most 255 bytes; not blank) */
  readonly name?: string | undefined;
  /** Whether the bot is active. */
  readonly active?: boolean | null | undefined;
}

/** A key for this API. */
export interface APIKey {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /** The token. Returned only when it is created, null afterwards. (at most 255 bytes) */
  readonly token: string | null;
  /**
   * The bot user that owns the token, which works only while the bot user is active. Null: the account. (id of a bot
   * user)
   */
  readonly owner_id: string | null;
  /** Time when the token and its sessions expire; null: never. */
  readonly expires_at: string | null;
  /** Time of the last use, exact to ten minutes; null if it was never used. */
  readonly last_used_at: string | null;
  /** Whether the key can manage accounts. Only an operator's key can create another operator's key. */
  readonly operator: boolean;
  /**
   * Scopes of the key; empty: no limit. A limited key can do everything that at least one scope allows. (at most 100)
   */
  readonly scopes: readonly string[];
}

/** A key for this API. */
export interface APIKeyCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /**
   * The bot user that owns the token, which works only while the bot user is active. Null: the account. (id of a bot
   * user)
   */
  readonly owner_id?: string | null | undefined;
  /** Time when the token and its sessions expire; null: never. */
  readonly expires_at?: string | null | undefined;
  /** Whether the key can manage accounts. Only an operator's key can create another operator's key. */
  readonly operator?: boolean | null | undefined;
  /**
   * Scopes of the key; empty: no limit. A limited key can do everything that at least one scope allows. (at most 100)
   */
  readonly scopes?: readonly string[] | null | undefined;
}

/** A key for this API. */
export interface APIKeyUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
}

/**
 * Someone who uses the console. An accepted invitation creates the person. Deleting the person ends their sessions
 * immediately.
 */
export interface Person {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /** Email address; unique in the account. (at most 255 bytes; email) */
  readonly email: string;
  /** Name, as the person wrote it. (at most 255 bytes) */
  readonly name: string;
  /**
   * `viewer` reads, `editor` also changes objects, `admin` also sees secrets and manages keys and people, `operator`
   * also manages accounts. Only operators can give this role.
   */
  readonly role: "viewer" | "editor" | "admin" | "operator";
  /** Whether the person can log in. Setting it to false ends the person's sessions. */
  readonly active: boolean;
  /** Time of the last login; null: never. */
  readonly last_login_at: string | null;
}

/**
 * Someone who uses the console. An accepted invitation creates the person. Deleting the person ends their sessions
 * immediately.
 */
export interface PersonUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** Name, as the person wrote it. (at most 255 bytes) */
  readonly name?: string | null | undefined;
  /**
   * `viewer` reads, `editor` also changes objects, `admin` also sees secrets and manages keys and people, `operator`
   * also manages accounts. Only operators can give this role.
   */
  readonly role?: "viewer" | "editor" | "admin" | "operator" | null | undefined;
  /** Whether the person can log in. Setting it to false ends the person's sessions. */
  readonly active?: boolean | null | undefined;
}

/**
 * A passkey (WebAuthn credential) with which a person logs in to the console. Deleting the passkey ends the sessions
 * that it opened.
 */
export interface Passkey {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** The person. */
  readonly person: Ref;
  /** Whether the passkey is backed up, for example in a password manager. */
  readonly synced: boolean;
  /** Time of the last login with the passkey. */
  readonly last_used_at: string | null;
}

/**
 * A link with which one person gets access to the console. It works once, and then the invitation no longer exists. For
 * a person who exists already, it adds a passkey.
 */
export interface PersonInvitation {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /**
   * Email address of the person. With an identity provider, the person must log in with this address. (at most 255
   * bytes; email)
   */
  readonly email: string;
  /**
   * Role of the new person. `viewer` reads, `editor` also changes objects, `admin` also sees secrets and manages keys
   * and people, `operator` also manages accounts. Only operators can give this role.
   */
  readonly role: "viewer" | "editor" | "admin" | "operator";
  /** Time when the link expires, at most 30 days after its creation; null: after 3 days. */
  readonly expires_at: string | null;
  /** The link. Returned only when it is created, null afterwards. (at most 1024 bytes) */
  readonly url: string | null;
}

/**
 * A link with which one person gets access to the console. It works once, and then the invitation no longer exists. For
 * a person who exists already, it adds a passkey.
 */
export interface PersonInvitationCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /**
   * Email address of the person. With an identity provider, the person must log in with this address. (at most 255
   * bytes; email)
   */
  readonly email: string;
  /**
   * Role of the new person. `viewer` reads, `editor` also changes objects, `admin` also sees secrets and manages keys
   * and people, `operator` also manages accounts. Only operators can give this role.
   */
  readonly role?: "viewer" | "editor" | "admin" | "operator" | null | undefined;
  /** Time when the link expires, at most 30 days after its creation; null: after 3 days. */
  readonly expires_at?: string | null | undefined;
}

/**
 * A link with which one person gets access to the console. It works once, and then the invitation no longer exists. For
 * a person who exists already, it adds a passkey.
 */
export interface PersonInvitationUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
}

/**
 * A login to the console, or an application that may use `/mcp`, with the permissions of an API key or of a person.
 * Deleting the session, its key or its person ends the access.
 */
export interface ConsoleSession {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** The API key of the login, whose permissions apply; null for a login of a person. */
  readonly api_key: Ref | null;
  /** The person, unless the login used an API key. (at most 1024 bytes) */
  readonly person: string;
  /** The user's address. (at most 255 bytes) */
  readonly ip_address: string;
  /**
   * The application that the user has connected to `/mcp`, by its own name; empty for a browser. (at most 1024 bytes)
   */
  readonly client: string;
  /** What the application may do: `read`, `write`. (at most 1000) */
  readonly client_scopes: readonly string[];
  /** What the user's browser reports. (at most 255 bytes) */
  readonly user_agent: string;
  /** Time when the session expires. */
  readonly expires_at: string | null;
}

/** A token that agents use to connect. */
export interface Credential {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /** The token. Returned only when it is created, null afterwards. (at most 255 bytes) */
  readonly token: string | null;
  /**
   * The bot user that owns the token, which works only while the bot user is active. Null: the account. (id of a bot
   * user)
   */
  readonly owner_id: string | null;
  /** Time when the token and its sessions expire; null: never. */
  readonly expires_at: string | null;
  /** Time of the last use, exact to ten minutes; null if it was never used. */
  readonly last_used_at: string | null;
  /** Names that agents can bind with the token; empty: all. (at most 100) */
  readonly acl: readonly string[];
}

/** A token that agents use to connect. */
export interface CredentialCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /**
   * The bot user that owns the token, which works only while the bot user is active. Null: the account. (id of a bot
   * user)
   */
  readonly owner_id?: string | null | undefined;
  /** Time when the token and its sessions expire; null: never. */
  readonly expires_at?: string | null | undefined;
  /** Names that agents can bind with the token; empty: all. (at most 100) */
  readonly acl?: readonly string[] | null | undefined;
}

/** A token that agents use to connect. */
export interface CredentialUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** Names that agents can bind with the token; empty: all. (at most 100) */
  readonly acl?: readonly string[] | null | undefined;
}

/** A public key with which an SSH client publishes services (`ssh -R`), if the server runs with `--ssh-listen`. */
export interface SSHCredential {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /** The public key, as in a `.pub` file. Its comment is not stored. (at most 8192 bytes; ssh public key) */
  readonly public_key: string;
  /** Type of the key, such as `ssh-ed25519`. (at most 255 bytes) */
  readonly key_type: string;
  /** SHA-256 of the key, as SSH clients show it. (at most 255 bytes) */
  readonly fingerprint: string;
  /** Names that clients with the key can publish; empty: all. (at most 100) */
  readonly acl: readonly string[];
  /**
   * The bot user that owns the key, which works only while the bot user is active. Null: the account. (id of a bot
   * user)
   */
  readonly owner_id: string | null;
}

/** A public key with which an SSH client publishes services (`ssh -R`), if the server runs with `--ssh-listen`. */
export interface SSHCredentialCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** The public key, as in a `.pub` file. Its comment is not stored. (at most 8192 bytes; ssh public key) */
  readonly public_key: string;
  /** Names that clients with the key can publish; empty: all. (at most 100) */
  readonly acl?: readonly string[] | null | undefined;
  /**
   * The bot user that owns the key, which works only while the bot user is active. Null: the account. (id of a bot
   * user)
   */
  readonly owner_id?: string | null | undefined;
}

/** A public key with which an SSH client publishes services (`ssh -R`), if the server runs with `--ssh-listen`. */
export interface SSHCredentialUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** Names that clients with the key can publish; empty: all. (at most 100) */
  readonly acl?: readonly string[] | null | undefined;
}

/**
 * A key that signs the certificates of SSH clients. Each client with a valid user certificate publishes services in the
 * account. The user name of its login must be a principal of the certificate.
 */
export interface SSHCertificateAuthority {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /** The public key, as in a `.pub` file. Its comment is not stored. (at most 8192 bytes; ssh public key) */
  readonly public_key: string;
  /** Type of the key, such as `ssh-ed25519`. (at most 255 bytes) */
  readonly key_type: string;
  /** SHA-256 of the key, as SSH clients show it. (at most 255 bytes) */
  readonly fingerprint: string;
  /** Names that clients with the key can publish; empty: all. (at most 100) */
  readonly acl: readonly string[];
  /**
   * The bot user that owns the key, which works only while the bot user is active. Null: the account. (id of a bot
   * user)
   */
  readonly owner_id: string | null;
}

/**
 * A key that signs the certificates of SSH clients. Each client with a valid user certificate publishes services in the
 * account. The user name of its login must be a principal of the certificate.
 */
export interface SSHCertificateAuthorityCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** The public key, as in a `.pub` file. Its comment is not stored. (at most 8192 bytes; ssh public key) */
  readonly public_key: string;
  /** Names that clients with the key can publish; empty: all. (at most 100) */
  readonly acl?: readonly string[] | null | undefined;
  /**
   * The bot user that owns the key, which works only while the bot user is active. Null: the account. (id of a bot
   * user)
   */
  readonly owner_id?: string | null | undefined;
}

/**
 * A key that signs the certificates of SSH clients. Each client with a valid user certificate publishes services in the
 * account. The user name of its login must be a principal of the certificate.
 */
export interface SSHCertificateAuthorityUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** Names that clients with the key can publish; empty: all. (at most 100) */
  readonly acl?: readonly string[] | null | undefined;
}

/**
 * A code with which `postern join` gets an agent token. Each agent gets its own token, named after its machine. The
 * history lists the joined agents under the invitation's id.
 */
export interface AgentInvitation {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /** The code for `postern join`. Returned only when it is created, null afterwards. (at most 512 bytes) */
  readonly code: string | null;
  /** Number of agents that can join with the code. (1 to 1000) */
  readonly uses: number;
  /** Number of agents that have joined. (0 to 4294967295) */
  readonly used: number;
  /** Time when the code expires, at most 30 days after its creation; null: after one hour. */
  readonly expires_at: string | null;
  /** Time when the agent tokens of the joined agents expire; null: never. */
  readonly token_expires_at: string | null;
  /** Names that the joined agents can bind; empty: all. (at most 100) */
  readonly acl: readonly string[];
}

/**
 * A code with which `postern join` gets an agent token. Each agent gets its own token, named after its machine. The
 * history lists the joined agents under the invitation's id.
 */
export interface AgentInvitationCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** Number of agents that can join with the code. (1 to 1000) */
  readonly uses?: number | null | undefined;
  /** Time when the code expires, at most 30 days after its creation; null: after one hour. */
  readonly expires_at?: string | null | undefined;
  /** Time when the agent tokens of the joined agents expire; null: never. */
  readonly token_expires_at?: string | null | undefined;
  /** Names that the joined agents can bind; empty: all. (at most 100) */
  readonly acl?: readonly string[] | null | undefined;
}

/**
 * A code with which `postern join` gets an agent token. Each agent gets its own token, named after its machine. The
 * history lists the joined agents under the invitation's id.
 */
export interface AgentInvitationUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
}

/** A set of rules that allows or denies source addresses. A policy without an allow rule allows no address. */
export interface IPPolicy {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
}

/** A set of rules that allows or denies source addresses. A policy without an allow rule allows no address. */
export interface IPPolicyCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
}

/** A set of rules that allows or denies source addresses. A policy without an allow rule allows no address. */
export interface IPPolicyUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
}

/** An allow or deny entry of an IP policy. */
export interface IPPolicyRule {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /**
   * An IP address, or a range in CIDR notation, IPv4 or IPv6. An address means its /32 or /128. (at most 255 bytes;
   * cidr)
   */
  readonly cidr: string;
  /** The IP policy the rule belongs to. */
  readonly ip_policy: Ref;
  /** The action for a matching source. */
  readonly action: "allow" | "deny";
}

/** An allow or deny entry of an IP policy. */
export interface IPPolicyRuleCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /**
   * An IP address, or a range in CIDR notation, IPv4 or IPv6. An address means its /32 or /128. (at most 255 bytes;
   * cidr)
   */
  readonly cidr: string;
  /** The IP policy the rule belongs to. (id of an ip policy) */
  readonly ip_policy_id: string;
  /** The action for a matching source. */
  readonly action: "allow" | "deny";
}

/** An allow or deny entry of an IP policy. */
export interface IPPolicyRuleUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /**
   * An IP address, or a range in CIDR notation, IPv4 or IPv6. An address means its /32 or /128. (at most 255 bytes;
   * cidr)
   */
  readonly cidr?: string | undefined;
}

/** Addresses from which a part of the account can be used; one restriction for each part. */
export interface IPRestriction {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /** Whether other addresses are denied. */
  readonly enforced: boolean;
  /** The part of the account. */
  readonly type: "dashboard" | "api" | "agent" | "endpoints";
  /** IP policies that allow a source. */
  readonly ip_policies: readonly Ref[];
}

/** Addresses from which a part of the account can be used; one restriction for each part. */
export interface IPRestrictionCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** Whether other addresses are denied. */
  readonly enforced?: boolean | null | undefined;
  /** The part of the account. */
  readonly type: "dashboard" | "api" | "agent" | "endpoints";
  /** IP policies that allow a source. (id of an ip policy) */
  readonly ip_policy_ids: readonly string[];
}

/** Addresses from which a part of the account can be used; one restriction for each part. */
export interface IPRestrictionUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** Whether other addresses are denied. */
  readonly enforced?: boolean | null | undefined;
  /** IP policies that allow a source. (id of an ip policy) */
  readonly ip_policy_ids?: readonly string[] | undefined;
}

/**
 * CA certificates that verify client certificates. One upload can have several; the shown fields are from the first.
 */
export interface CertificateAuthority {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /** One or more certificates in PEM form. (at most 131072 bytes) */
  readonly ca_pem: string;
  /** Common name of the subject. (at most 4096 bytes) */
  readonly subject_common_name: string;
  /** Start of the validity. */
  readonly not_before: string | null;
  /** End of the validity. */
  readonly not_after: string | null;
  /** Key usages. (at most 1000) */
  readonly key_usages: readonly string[];
  /** Extended key usages. (at most 1000) */
  readonly extended_key_usages: readonly string[];
}

/**
 * CA certificates that verify client certificates. One upload can have several; the shown fields are from the first.
 */
export interface CertificateAuthorityCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** One or more certificates in PEM form. (at most 131072 bytes) */
  readonly ca_pem: string;
}

/**
 * CA certificates that verify client certificates. One upload can have several; the shown fields are from the first.
 */
export interface CertificateAuthorityUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
}

/** A certificate with its chain and private key. Edges present it for the names in it. */
export interface TLSCertificate {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /** The certificate followed by its chain, in order, in PEM form. (at most 131072 bytes) */
  readonly certificate_pem: string;
  /** Common name of the subject. (at most 4096 bytes) */
  readonly subject_common_name: string;
  /** Start of the validity. */
  readonly not_before: string | null;
  /** End of the validity. */
  readonly not_after: string | null;
  /** Key usages. (at most 1000) */
  readonly key_usages: readonly string[];
  /** Extended key usages. (at most 1000) */
  readonly extended_key_usages: readonly string[];
  /** Names and addresses for which the certificate is valid. */
  readonly subject_alternative_names: {
    /** DNS names. (at most 1000) */
    readonly dns_names: readonly string[];
    /** Addresses. (at most 1000) */
    readonly ips: readonly string[];
  };
  /** Time when the server obtained the certificate automatically; null for an uploaded certificate. */
  readonly issued_at: string | null;
  /** Type of the private key. (at most 4096 bytes) */
  readonly private_key_type: string;
  /** Common name of the issuer. (at most 4096 bytes) */
  readonly issuer_common_name: string;
  /** Serial number, lower-case hexadecimal. (at most 4096 bytes) */
  readonly serial_number: string;
  /** Organization of the subject. (at most 4096 bytes) */
  readonly subject_organization: string;
  /** Organizational unit of the subject. (at most 4096 bytes) */
  readonly subject_organizational_unit: string;
  /** Locality of the subject. (at most 4096 bytes) */
  readonly subject_locality: string;
  /** Province of the subject. (at most 4096 bytes) */
  readonly subject_province: string;
  /** Country of the subject. (at most 4096 bytes) */
  readonly subject_country: string;
}

/** A certificate with its chain and private key. Edges present it for the names in it. */
export interface TLSCertificateCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** The certificate followed by its chain, in order, in PEM form. (at most 131072 bytes) */
  readonly certificate_pem: string;
  /** Its private key in PEM form, unencrypted. (at most 32768 bytes; secret) */
  readonly private_key_pem: string;
}

/** A certificate with its chain and private key. Edges present it for the names in it. */
export interface TLSCertificateUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
}

/** A host name that only this account can use. Hostports of edges reserve their domains automatically. */
export interface ReservedDomain {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /** The host name, or `*.` and one; unique on the server. (at most 255 bytes; domain) */
  readonly domain: string;
  /** Region of the domain; empty: all regions. (at most 255 bytes) */
  readonly region: string;
  /** Target for a CNAME record of the domain; null for names below the server's own domain. (at most 255 bytes) */
  readonly cname_target: string | null;
  /** The certificate for the domain. */
  readonly certificate: Ref | null;
  /** Policy for automatic certificates; excludes `certificate_id`. */
  readonly certificate_management_policy: {
    /** Issuer of the certificates. */
    readonly authority: "letsencrypt";
    /** Type of the certificate's key. */
    readonly private_key_type: "ecdsa" | "rsa";
  } | null;
  /** State of the automatic certificate; null without a policy. */
  readonly certificate_management_status: {
    /** Time when the certificate will be renewed. */
    readonly renews_at: string | null;
    /** Check by which the certificate was obtained: `tls-alpn-01`, `http-01` or `dns-01`. (at most 255 bytes) */
    readonly challenge_type: string | null;
    /** The current attempt. */
    readonly provisioning_job: {
      /** Error of the last attempt. (at most 255 bytes) */
      readonly error_code: string | null;
      /** Description of the current step. (at most 4096 bytes) */
      readonly msg: string;
      /** Start time of the attempt. */
      readonly started_at: string | null;
      /** Time of the next attempt. */
      readonly retries_at: string | null;
    } | null;
  } | null;
  /** Target for a CNAME record at `_acme-challenge`, if the challenge needs one. (at most 255 bytes) */
  readonly acme_challenge_cname_target: string | null;
  /** State of the ownership proof and how to provide it; null if this server requires no proof. */
  readonly ownership: {
    /** `pending`: the domain is not proven and cannot be used yet. `lapsed`: reserve the domain again. */
    readonly status: "pending" | "proven" | "lapsed";
    /** Type of the DNS record to set; null if only the operator can approve the domain. (at most 255 bytes) */
    readonly record_type: string | null;
    /** Name of the record. (at most 300 bytes) */
    readonly record_name: string | null;
    /** Value of the record. (at most 255 bytes) */
    readonly record_value: string | null;
    /** Result of the last check. (at most 1024 bytes) */
    readonly msg: string;
    /** Time of the last check. */
    readonly checked_at: string | null;
    /** End of the checks; null after the proof. */
    readonly lapses_at: string | null;
  } | null;
  /** IP addresses for the domain's DNS records; empty: all addresses of the server. (at most 10) */
  readonly resolves_to: readonly {
    /** The address, or a name for the address. (at most 255 bytes) */
    readonly value: string;
  }[];
}

/** A host name that only this account can use. Hostports of edges reserve their domains automatically. */
export interface ReservedDomainCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** The host name, or `*.` and one; unique on the server. (at most 255 bytes; domain) */
  readonly domain: string;
  /** Region of the domain; empty: all regions. (at most 255 bytes) */
  readonly region?: string | null | undefined;
  /** The certificate for the domain. (id of a tls certificate) */
  readonly certificate_id?: string | null | undefined;
  /** Policy for automatic certificates; excludes `certificate_id`. */
  readonly certificate_management_policy?: {
    /** Issuer of the certificates. */
    readonly authority?: "letsencrypt" | null | undefined;
    /** Type of the certificate's key. */
    readonly private_key_type?: "ecdsa" | "rsa" | null | undefined;
  } | null | undefined;
  /** IP addresses for the domain's DNS records; empty: all addresses of the server. (at most 10) */
  readonly resolves_to?: readonly {
    /** The address, or a name for the address. (at most 255 bytes) */
    readonly value: string;
  }[] | null | undefined;
}

/** A host name that only this account can use. Hostports of edges reserve their domains automatically. */
export interface ReservedDomainUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** The certificate for the domain. (id of a tls certificate) */
  readonly certificate_id?: string | null | undefined;
  /** Policy for automatic certificates; excludes `certificate_id`. */
  readonly certificate_management_policy?: {
    /** Issuer of the certificates. */
    readonly authority?: "letsencrypt" | null | undefined;
    /** Type of the certificate's key. */
    readonly private_key_type?: "ecdsa" | "rsa" | null | undefined;
  } | null | undefined;
  /** IP addresses for the domain's DNS records; empty: all addresses of the server. (at most 10) */
  readonly resolves_to?: readonly {
    /** The address, or a name for the address. (at most 255 bytes) */
    readonly value: string;
  }[] | null | undefined;
}

/** A TCP address that only this account can use. Hostports of TCP edges reserve their addresses automatically. */
export interface ReservedAddr {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /** Host and port, chosen by the server. (at most 260 bytes) */
  readonly addr: string;
  /** Region of the address; empty: all regions. (at most 255 bytes) */
  readonly region: string;
}

/** A TCP address that only this account can use. Hostports of TCP edges reserve their addresses automatically. */
export interface ReservedAddrCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** Region of the address; empty: all regions. (at most 255 bytes) */
  readonly region?: string | null | undefined;
}

/** A TCP address that only this account can use. Hostports of TCP edges reserve their addresses automatically. */
export interface ReservedAddrUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
}

/** A backend of all online tunnels with matching labels. */
export interface TunnelGroupBackend {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /** Labels to watch for tunnels on. A tunnel matches if it has all of them. (at most 32) */
  readonly labels: Readonly<Record<string, string>>;
  /** All matching online tunnels. */
  readonly tunnels: readonly Ref[];
}

/** A backend of all online tunnels with matching labels. */
export interface TunnelGroupBackendCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** Labels to watch for tunnels on. A tunnel matches if it has all of them. (at most 32) */
  readonly labels: Readonly<Record<string, string>>;
}

/** A backend of all online tunnels with matching labels. */
export interface TunnelGroupBackendUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** Labels to watch for tunnels on. A tunnel matches if it has all of them. (at most 32) */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** A backend that tries other backends in order. It uses the next backend only if the previous one is unreachable. */
export interface FailoverBackend {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /**
   * Ids of the backends, in order. (id of a tunnel group backend or a weighted backend or a failover backend or an http
   * response backend or a static backend)
   */
  readonly backends: readonly string[];
}

/** A backend that tries other backends in order. It uses the next backend only if the previous one is unreachable. */
export interface FailoverBackendCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /**
   * Ids of the backends, in order. (id of a tunnel group backend or a weighted backend or a failover backend or an http
   * response backend or a static backend)
   */
  readonly backends: readonly string[];
}

/** A backend that tries other backends in order. It uses the next backend only if the previous one is unreachable. */
export interface FailoverBackendUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /**
   * Ids of the backends, in order. (id of a tunnel group backend or a weighted backend or a failover backend or an http
   * response backend or a static backend)
   */
  readonly backends?: readonly string[] | undefined;
}

/** A backend that distributes traffic among other backends by weight. */
export interface WeightedBackend {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /**
   * Weight by backend id. A backend receives its weight divided by the sum of all weights; 0 receives no traffic. (at
   * most 20)
   */
  readonly backends: Readonly<Record<string, number>>;
}

/** A backend that distributes traffic among other backends by weight. */
export interface WeightedBackendCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /**
   * Weight by backend id. A backend receives its weight divided by the sum of all weights; 0 receives no traffic. (at
   * most 20)
   */
  readonly backends: Readonly<Record<string, number>>;
}

/** A backend that distributes traffic among other backends by weight. */
export interface WeightedBackendUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /**
   * Weight by backend id. A backend receives its weight divided by the sum of all weights; 0 receives no traffic. (at
   * most 20)
   */
  readonly backends?: Readonly<Record<string, number>> | undefined;
}

/** A backend that answers every request with the same response. */
export interface HTTPResponseBackend {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /** The response's body. (at most 65536 bytes) */
  readonly body: string;
  /** The response's header fields. (at most 20) */
  readonly headers: Readonly<Record<string, string>>;
  /** The response's status. (200 to 599) */
  readonly status_code: number;
}

/** A backend that answers every request with the same response. */
export interface HTTPResponseBackendCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** The response's body. (at most 65536 bytes) */
  readonly body?: string | null | undefined;
  /** The response's header fields. (at most 20) */
  readonly headers?: Readonly<Record<string, string>> | null | undefined;
  /** The response's status. (0 to 599) */
  readonly status_code?: number | null | undefined;
}

/** A backend that answers every request with the same response. */
export interface HTTPResponseBackendUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** The response's body. (at most 65536 bytes) */
  readonly body?: string | null | undefined;
  /** The response's header fields. (at most 20) */
  readonly headers?: Readonly<Record<string, string>> | null | undefined;
  /** The response's status. (0 to 599) */
  readonly status_code?: number | null | undefined;
}

/** A backend at an address that the edge connects to directly. */
export interface StaticBackend {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /**
   * Host and port. The server rejects loopback, link-local and other forbidden addresses, and does not connect to names
   * that resolve to them. (at most 260 bytes; address)
   */
  readonly address: string;
  /** Protocol for the connection. */
  readonly tls: {
    /** Whether to use TLS and verify the certificate. */
    readonly enabled: boolean;
  };
}

/** A backend at an address that the edge connects to directly. */
export interface StaticBackendCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /**
   * Host and port. The server rejects loopback, link-local and other forbidden addresses, and does not connect to names
   * that resolve to them. (at most 260 bytes; address)
   */
  readonly address: string;
  /** Protocol for the connection. */
  readonly tls?: {
    /** Whether to use TLS and verify the certificate. */
    readonly enabled?: boolean | null | undefined;
  } | null | undefined;
}

/** A backend at an address that the edge connects to directly. */
export interface StaticBackendUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /**
   * Host and port. The server rejects loopback, link-local and other forbidden addresses, and does not connect to names
   * that resolve to them. (at most 260 bytes; address)
   */
  readonly address?: string | undefined;
  /** Protocol for the connection. */
  readonly tls?: {
    /** Whether to use TLS and verify the certificate. */
    readonly enabled?: boolean | null | undefined;
  } | null | undefined;
}

/** A public HTTPS endpoint: hostports, TLS settings and a list of routes. */
export interface HTTPSEdge {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /** Hostports served by the edge; the port is the advertised one. (at most 100) */
  readonly hostports: readonly string[];
  /**
   * Whether the server captures requests here, see the capture guide. Null: as the edge, then the account, then the
   * server says.
   */
  readonly capture: Capture | null;
  /** Routes of the edge. */
  readonly routes: readonly HTTPSEdgeRoute[];
  /** Sets where TLS ends, and the allowed TLS versions. */
  readonly tls_termination: EndpointTLSTermination | null;
  /**
   * Requests a client certificate in the TLS handshake, and rejects clients without a certificate of the given CAs. The
   * upstream receives the certificate's subject in `ngrok-mtls-*` header fields.
   */
  readonly mutual_tls: EndpointMutualTLS | null;
}

/** A public HTTPS endpoint: hostports, TLS settings and a list of routes. */
export interface HTTPSEdgeCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** Hostports served by the edge; the port is the advertised one. (at most 100) */
  readonly hostports?: readonly string[] | null | undefined;
  /**
   * Whether the server captures requests here, see the capture guide. Null: as the edge, then the account, then the
   * server says.
   */
  readonly capture?: CaptureReplace | null | undefined;
  /** Sets where TLS ends, and the allowed TLS versions. */
  readonly tls_termination?: EndpointTLSTerminationReplace | null | undefined;
  /**
   * Requests a client certificate in the TLS handshake, and rejects clients without a certificate of the given CAs. The
   * upstream receives the certificate's subject in `ngrok-mtls-*` header fields.
   */
  readonly mutual_tls?: EndpointMutualTLSReplace | null | undefined;
}

/** A public HTTPS endpoint: hostports, TLS settings and a list of routes. */
export interface HTTPSEdgeUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** Hostports served by the edge; the port is the advertised one. (at most 100) */
  readonly hostports?: readonly string[] | null | undefined;
  /**
   * Whether the server captures requests here, see the capture guide. Null: as the edge, then the account, then the
   * server says.
   */
  readonly capture?: CaptureReplace | null | undefined;
  /** Sets where TLS ends, and the allowed TLS versions. */
  readonly tls_termination?: EndpointTLSTerminationReplace | null | undefined;
  /**
   * Requests a client certificate in the TLS handshake, and rejects clients without a certificate of the given CAs. The
   * upstream receives the certificate's subject in `ngrok-mtls-*` header fields.
   */
  readonly mutual_tls?: EndpointMutualTLSReplace | null | undefined;
}

/** Sets where TLS ends, and the allowed TLS versions. */
export interface EndpointTLSTermination {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled: boolean;
  /**
   * `edge`: the edge terminates TLS. `upstream` (or the older name `agent`): the edge passes TLS through; only on TLS
   * edges.
   */
  readonly terminate_at: "edge" | "upstream" | "agent";
  /** Minimum TLS version; 1.2 if unset. Must be null if TLS is passed through. */
  readonly min_version: "1.2" | "1.3" | null;
}

/** Sets where TLS ends, and the allowed TLS versions. */
export interface EndpointTLSTerminationReplace {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled?: boolean | null | undefined;
  /**
   * `edge`: the edge terminates TLS. `upstream` (or the older name `agent`): the edge passes TLS through; only on TLS
   * edges.
   */
  readonly terminate_at?: "edge" | "upstream" | "agent" | null | undefined;
  /** Minimum TLS version; 1.2 if unset. Must be null if TLS is passed through. */
  readonly min_version?: "1.2" | "1.3" | null | undefined;
}

/**
 * Requests a client certificate in the TLS handshake, and rejects clients without a certificate of the given CAs. The
 * upstream receives the certificate's subject in `ngrok-mtls-*` header fields.
 */
export interface EndpointMutualTLS {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled: boolean;
  /** CAs that client certificates must chain to. */
  readonly certificate_authorities: readonly Ref[];
}

/**
 * Requests a client certificate in the TLS handshake, and rejects clients without a certificate of the given CAs. The
 * upstream receives the certificate's subject in `ngrok-mtls-*` header fields.
 */
export interface EndpointMutualTLSReplace {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled?: boolean | null | undefined;
  /** CAs that client certificates must chain to. (id of a certificate authority) */
  readonly certificate_authority_ids: readonly string[];
}

/**
 * Access rules and destination for the matching requests of an HTTPS edge. The most specific host wins, then exact
 * paths, then the longest prefix.
 */
export interface HTTPSEdgeRoute {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Identifier of the owning edge. (id of an https edge) */
  readonly edge_id: string;
  /** How `match` is compared: with the whole path, or with the start of the path in whole segments. */
  readonly match_type: "exact_path" | "path_prefix";
  /**
   * The path (`/api`), the host (`app.example.com`, `*.example.com`), or the host and path to match. The edge's
   * hostports must include the host; a host alone means all its paths. Routes with the exact host come first, then the
   * longest wildcard, then routes without a host. The API returns the value as sent; equivalent spellings, such as
   * `/%61pi`, are the same match. (at most 1024 bytes; route match)
   */
  readonly match: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /**
   * Whether the server captures requests here, see the capture guide. Null: as the edge, then the account, then the
   * server says.
   */
  readonly capture: Capture | null;
  /** Allows a source address only if a rule of the IP policies allows it and no rule denies it. */
  readonly ip_restriction: EndpointIPPolicy | null;
  /**
   * Allows visitors by the country of their address. An address in a country of `deny` is denied. If `allow` has
   * countries, all others are denied, and so are addresses whose country is unknown, such as private ones. Without
   * `allow`, addresses whose country is unknown pass.
   */
  readonly country_restriction: EndpointCountryRestriction | null;
  /**
   * Denies requests by their User-Agent: fields that match an expression of `deny` and none of `allow`. A request
   * without User-Agent passes only if an expression of `allow` matches the empty string. A request with several is
   * always denied. Expressions are RE2 and match anywhere.
   */
  readonly user_agent_filter: EndpointUserAgentFilter | null;
  /**
   * Accepts only webhooks with a valid signature. The edge holds the body until the signature is verified, and then
   * forwards it unchanged. The edge answers the provider's test requests.
   */
  readonly webhook_verification: EndpointWebhookValidation | null;
  /** Requires a login with a social identity provider. Only visitors on the lists have access. */
  readonly oauth: EndpointOAuth | null;
  /** Requires a login with an OpenID Connect provider. */
  readonly oidc: EndpointOIDC | null;
  /** Requires a login with a SAML identity provider. */
  readonly saml: EndpointSAML | null;
  /** Applies a traffic policy: rules with expressions and actions, by phase. */
  readonly traffic_policy: EndpointTrafficPolicy | null;
  /**
   * Stores webhooks and answers the provider immediately. The server delivers them to the backend, in order of arrival,
   * and retries until the service accepts them.
   */
  readonly inbox: EndpointInbox | null;
  /**
   * Stops requests to a failing upstream, and retries after a pause. A failure is a status of 500 or more, or no
   * response.
   */
  readonly circuit_breaker: EndpointCircuitBreaker | null;
  /**
   * Converts WebSockets to TCP: binary messages become bytes on a connection to the backend, and bytes from the backend
   * become binary messages. Text messages and requests without a WebSocket upgrade are rejected.
   */
  readonly websocket_tcp_converter: EndpointWebsocketTCPConverter | null;
  /** Removes, then adds header fields of the request, just before the request goes upstream. */
  readonly request_headers: EndpointRequestHeaders | null;
  /** Sets limits on how requests are forwarded to the upstream. */
  readonly forwarding: EndpointForwarding | null;
  /**
   * Publishes an MCP server (Model Context Protocol, Streamable HTTP). All requests of an MCP session reach the agent
   * that began it; if that agent is gone, they get 404, so that the client begins a new session. Event streams are
   * neither compressed nor buffered.
   */
  readonly mcp: EndpointMCP | null;
  /** Sends traffic to a backend. */
  readonly backend: EndpointBackend | null;
  /**
   * Compresses responses with gzip, deflate, br or zstd, according to the client's Accept-Encoding. Unchanged are
   * encoded or partial bodies, bodies that do not shrink, and responses with `Cache-Control: no-transform`. Responses
   * that repeat input of a logged-in visitor stay unchanged too.
   */
  readonly compression: EndpointCompression | null;
  /** Removes, then adds header fields of the response, just before the response goes to the client. */
  readonly response_headers: EndpointResponseHeaders | null;
}

/**
 * Access rules and destination for the matching requests of an HTTPS edge. The most specific host wins, then exact
 * paths, then the longest prefix.
 */
export interface HTTPSEdgeRouteCreate {
  /** How `match` is compared: with the whole path, or with the start of the path in whole segments. */
  readonly match_type: "exact_path" | "path_prefix";
  /**
   * The path (`/api`), the host (`app.example.com`, `*.example.com`), or the host and path to match. The edge's
   * hostports must include the host; a host alone means all its paths. Routes with the exact host come first, then the
   * longest wildcard, then routes without a host. The API returns the value as sent; equivalent spellings, such as
   * `/%61pi`, are the same match. (at most 1024 bytes; route match)
   */
  readonly match: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /**
   * Whether the server captures requests here, see the capture guide. Null: as the edge, then the account, then the
   * server says.
   */
  readonly capture?: CaptureReplace | null | undefined;
  /** Allows a source address only if a rule of the IP policies allows it and no rule denies it. */
  readonly ip_restriction?: EndpointIPPolicyReplace | null | undefined;
  /**
   * Allows visitors by the country of their address. An address in a country of `deny` is denied. If `allow` has
   * countries, all others are denied, and so are addresses whose country is unknown, such as private ones. Without
   * `allow`, addresses whose country is unknown pass.
   */
  readonly country_restriction?: EndpointCountryRestrictionReplace | null | undefined;
  /**
   * Denies requests by their User-Agent: fields that match an expression of `deny` and none of `allow`. A request
   * without User-Agent passes only if an expression of `allow` matches the empty string. A request with several is
   * always denied. Expressions are RE2 and match anywhere.
   */
  readonly user_agent_filter?: EndpointUserAgentFilterReplace | null | undefined;
  /**
   * Accepts only webhooks with a valid signature. The edge holds the body until the signature is verified, and then
   * forwards it unchanged. The edge answers the provider's test requests.
   */
  readonly webhook_verification?: EndpointWebhookValidationReplace | null | undefined;
  /** Requires a login with a social identity provider. Only visitors on the lists have access. */
  readonly oauth?: EndpointOAuthReplace | null | undefined;
  /** Requires a login with an OpenID Connect provider. */
  readonly oidc?: EndpointOIDCReplace | null | undefined;
  /** Requires a login with a SAML identity provider. */
  readonly saml?: EndpointSAMLReplace | null | undefined;
  /** Applies a traffic policy: rules with expressions and actions, by phase. */
  readonly traffic_policy?: EndpointTrafficPolicyReplace | null | undefined;
  /**
   * Stores webhooks and answers the provider immediately. The server delivers them to the backend, in order of arrival,
   * and retries until the service accepts them.
   */
  readonly inbox?: EndpointInboxReplace | null | undefined;
  /**
   * Stops requests to a failing upstream, and retries after a pause. A failure is a status of 500 or more, or no
   * response.
   */
  readonly circuit_breaker?: EndpointCircuitBreakerReplace | null | undefined;
  /**
   * Converts WebSockets to TCP: binary messages become bytes on a connection to the backend, and bytes from the backend
   * become binary messages. Text messages and requests without a WebSocket upgrade are rejected.
   */
  readonly websocket_tcp_converter?: EndpointWebsocketTCPConverterReplace | null | undefined;
  /** Removes, then adds header fields of the request, just before the request goes upstream. */
  readonly request_headers?: EndpointRequestHeadersReplace | null | undefined;
  /** Sets limits on how requests are forwarded to the upstream. */
  readonly forwarding?: EndpointForwardingReplace | null | undefined;
  /**
   * Publishes an MCP server (Model Context Protocol, Streamable HTTP). All requests of an MCP session reach the agent
   * that began it; if that agent is gone, they get 404, so that the client begins a new session. Event streams are
   * neither compressed nor buffered.
   */
  readonly mcp?: EndpointMCPReplace | null | undefined;
  /** Sends traffic to a backend. */
  readonly backend?: EndpointBackendReplace | null | undefined;
  /**
   * Compresses responses with gzip, deflate, br or zstd, according to the client's Accept-Encoding. Unchanged are
   * encoded or partial bodies, bodies that do not shrink, and responses with `Cache-Control: no-transform`. Responses
   * that repeat input of a logged-in visitor stay unchanged too.
   */
  readonly compression?: EndpointCompressionReplace | null | undefined;
  /** Removes, then adds header fields of the response, just before the response goes to the client. */
  readonly response_headers?: EndpointResponseHeadersReplace | null | undefined;
}

/**
 * Access rules and destination for the matching requests of an HTTPS edge. The most specific host wins, then exact
 * paths, then the longest prefix.
 */
export interface HTTPSEdgeRouteUpdate {
  /** How `match` is compared: with the whole path, or with the start of the path in whole segments. */
  readonly match_type?: "exact_path" | "path_prefix" | undefined;
  /**
   * The path (`/api`), the host (`app.example.com`, `*.example.com`), or the host and path to match. The edge's
   * hostports must include the host; a host alone means all its paths. Routes with the exact host come first, then the
   * longest wildcard, then routes without a host. The API returns the value as sent; equivalent spellings, such as
   * `/%61pi`, are the same match. (at most 1024 bytes; route match)
   */
  readonly match?: string | undefined;
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /**
   * Whether the server captures requests here, see the capture guide. Null: as the edge, then the account, then the
   * server says.
   */
  readonly capture?: CaptureReplace | null | undefined;
  /** Allows a source address only if a rule of the IP policies allows it and no rule denies it. */
  readonly ip_restriction?: EndpointIPPolicyReplace | null | undefined;
  /**
   * Allows visitors by the country of their address. An address in a country of `deny` is denied. If `allow` has
   * countries, all others are denied, and so are addresses whose country is unknown, such as private ones. Without
   * `allow`, addresses whose country is unknown pass.
   */
  readonly country_restriction?: EndpointCountryRestrictionReplace | null | undefined;
  /**
   * Denies requests by their User-Agent: fields that match an expression of `deny` and none of `allow`. A request
   * without User-Agent passes only if an expression of `allow` matches the empty string. A request with several is
   * always denied. Expressions are RE2 and match anywhere.
   */
  readonly user_agent_filter?: EndpointUserAgentFilterReplace | null | undefined;
  /**
   * Accepts only webhooks with a valid signature. The edge holds the body until the signature is verified, and then
   * forwards it unchanged. The edge answers the provider's test requests.
   */
  readonly webhook_verification?: EndpointWebhookValidationReplace | null | undefined;
  /** Requires a login with a social identity provider. Only visitors on the lists have access. */
  readonly oauth?: EndpointOAuthReplace | null | undefined;
  /** Requires a login with an OpenID Connect provider. */
  readonly oidc?: EndpointOIDCReplace | null | undefined;
  /** Requires a login with a SAML identity provider. */
  readonly saml?: EndpointSAMLReplace | null | undefined;
  /** Applies a traffic policy: rules with expressions and actions, by phase. */
  readonly traffic_policy?: EndpointTrafficPolicyReplace | null | undefined;
  /**
   * Stores webhooks and answers the provider immediately. The server delivers them to the backend, in order of arrival,
   * and retries until the service accepts them.
   */
  readonly inbox?: EndpointInboxReplace | null | undefined;
  /**
   * Stops requests to a failing upstream, and retries after a pause. A failure is a status of 500 or more, or no
   * response.
   */
  readonly circuit_breaker?: EndpointCircuitBreakerReplace | null | undefined;
  /**
   * Converts WebSockets to TCP: binary messages become bytes on a connection to the backend, and bytes from the backend
   * become binary messages. Text messages and requests without a WebSocket upgrade are rejected.
   */
  readonly websocket_tcp_converter?: EndpointWebsocketTCPConverterReplace | null | undefined;
  /** Removes, then adds header fields of the request, just before the request goes upstream. */
  readonly request_headers?: EndpointRequestHeadersReplace | null | undefined;
  /** Sets limits on how requests are forwarded to the upstream. */
  readonly forwarding?: EndpointForwardingReplace | null | undefined;
  /**
   * Publishes an MCP server (Model Context Protocol, Streamable HTTP). All requests of an MCP session reach the agent
   * that began it; if that agent is gone, they get 404, so that the client begins a new session. Event streams are
   * neither compressed nor buffered.
   */
  readonly mcp?: EndpointMCPReplace | null | undefined;
  /** Sends traffic to a backend. */
  readonly backend?: EndpointBackendReplace | null | undefined;
  /**
   * Compresses responses with gzip, deflate, br or zstd, according to the client's Accept-Encoding. Unchanged are
   * encoded or partial bodies, bodies that do not shrink, and responses with `Cache-Control: no-transform`. Responses
   * that repeat input of a logged-in visitor stay unchanged too.
   */
  readonly compression?: EndpointCompressionReplace | null | undefined;
  /** Removes, then adds header fields of the response, just before the response goes to the client. */
  readonly response_headers?: EndpointResponseHeadersReplace | null | undefined;
}

/** Allows a source address only if a rule of the IP policies allows it and no rule denies it. */
export interface EndpointIPPolicy {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled: boolean;
  /** IP policies used to check whether a source IP is allowed. */
  readonly ip_policies: readonly Ref[];
}

/** Allows a source address only if a rule of the IP policies allows it and no rule denies it. */
export interface EndpointIPPolicyReplace {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled?: boolean | null | undefined;
  /** IP policies used to check whether a source IP is allowed. (id of an ip policy) */
  readonly ip_policy_ids: readonly string[];
}

/**
 * Allows visitors by the country of their address. An address in a country of `deny` is denied. If `allow` has
 * countries, all others are denied, and so are addresses whose country is unknown, such as private ones. Without
 * `allow`, addresses whose country is unknown pass.
 */
export interface EndpointCountryRestriction {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled: boolean;
  /** Countries that may visit. Empty: all that `deny` does not have. (at most 260) */
  readonly allow: readonly string[];
  /** Countries that may not visit. (at most 260) */
  readonly deny: readonly string[];
}

/**
 * Allows visitors by the country of their address. An address in a country of `deny` is denied. If `allow` has
 * countries, all others are denied, and so are addresses whose country is unknown, such as private ones. Without
 * `allow`, addresses whose country is unknown pass.
 */
export interface EndpointCountryRestrictionReplace {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled?: boolean | null | undefined;
  /** Countries that may visit. Empty: all that `deny` does not have. (at most 260) */
  readonly allow?: readonly string[] | null | undefined;
  /** Countries that may not visit. (at most 260) */
  readonly deny?: readonly string[] | null | undefined;
}

/**
 * Denies requests by their User-Agent: fields that match an expression of `deny` and none of `allow`. A request without
 * User-Agent passes only if an expression of `allow` matches the empty string. A request with several is always denied.
 * Expressions are RE2 and match anywhere.
 */
export interface EndpointUserAgentFilter {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled: boolean;
  /** Expressions for user agents that are always allowed. (at most 100) */
  readonly allow: readonly string[];
  /** Expressions for user agents that are denied. (at most 100) */
  readonly deny: readonly string[];
}

/**
 * Denies requests by their User-Agent: fields that match an expression of `deny` and none of `allow`. A request without
 * User-Agent passes only if an expression of `allow` matches the empty string. A request with several is always denied.
 * Expressions are RE2 and match anywhere.
 */
export interface EndpointUserAgentFilterReplace {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled?: boolean | null | undefined;
  /** Expressions for user agents that are always allowed. (at most 100) */
  readonly allow?: readonly string[] | null | undefined;
  /** Expressions for user agents that are denied. (at most 100) */
  readonly deny?: readonly string[] | null | undefined;
}

/**
 * Accepts only webhooks with a valid signature. The edge holds the body until the signature is verified, and then
 * forwards it unchanged. The edge answers the provider's test requests.
 */
export interface EndpointWebhookValidation {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled: boolean;
  /** The webhook provider. (at most 255 bytes; webhook provider) */
  readonly provider: string;
  /**
   * Secret that you share with the provider; for SendGrid its public key. Required for all providers except AWS SNS.
   * (at most 4096 bytes; secret)
   */
  readonly secret: string;
  /**
   * Accept only the provider's newest signature format, for HubSpot and Plivo version 3. Older formats cover less of
   * the request.
   */
  readonly newest_signature_only: boolean;
  /**
   * ARNs of the SNS topics whose messages are accepted; empty: all topics. An SNS signature proves that Amazon sent the
   * message, but not who owns the topic. (at most 20)
   */
  readonly sns_topics: readonly string[];
}

/**
 * Accepts only webhooks with a valid signature. The edge holds the body until the signature is verified, and then
 * forwards it unchanged. The edge answers the provider's test requests.
 */
export interface EndpointWebhookValidationReplace {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled?: boolean | null | undefined;
  /** The webhook provider. (at most 255 bytes; webhook provider) */
  readonly provider: string;
  /**
   * Secret that you share with the provider; for SendGrid its public key. Required for all providers except AWS SNS.
   * (at most 4096 bytes; secret)
   */
  readonly secret?: string | null | undefined;
  /**
   * Accept only the provider's newest signature format, for HubSpot and Plivo version 3. Older formats cover less of
   * the request.
   */
  readonly newest_signature_only?: boolean | null | undefined;
  /**
   * ARNs of the SNS topics whose messages are accepted; empty: all topics. An SNS signature proves that Amazon sent the
   * message, but not who owns the topic. (at most 20)
   */
  readonly sns_topics?: readonly string[] | null | undefined;
}

/** Requires a login with a social identity provider. Only visitors on the lists have access. */
export interface EndpointOAuth {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled: boolean;
  /** Identity provider and access lists. Set exactly one provider. */
  readonly provider: EndpointOAuthProvider;
  /**
   * Allow HTTP OPTIONS requests without a login; CORS needs this. Such requests reach the upstream without the
   * visitor's identity.
   */
  readonly options_passthrough: boolean;
  /** Prefix of the session cookie. (at most 255 bytes; cookie prefix) */
  readonly cookie_prefix: string;
  /** Seconds without requests after which the visitor must log in again; 0: never. (0 to 4294967295) */
  readonly inactivity_timeout: number;
  /** Maximum seconds of a session; 0: unlimited. (0 to 4294967295) */
  readonly maximum_duration: number;
  /** OAuth 2.1 for clients that are not browsers, such as MCP clients: they get tokens for this route. */
  readonly machine_clients: EndpointMachineClients | null;
  /**
   * Seconds after which the edge refreshes the visitor's data from the identity provider and checks access again; 0:
   * only at login. (0 to 4294967295)
   */
  readonly auth_check_interval: number;
}

/** Requires a login with a social identity provider. Only visitors on the lists have access. */
export interface EndpointOAuthReplace {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled?: boolean | null | undefined;
  /** Identity provider and access lists. Set exactly one provider. */
  readonly provider: EndpointOAuthProviderReplace;
  /**
   * Allow HTTP OPTIONS requests without a login; CORS needs this. Such requests reach the upstream without the
   * visitor's identity.
   */
  readonly options_passthrough?: boolean | null | undefined;
  /** Prefix of the session cookie. (at most 255 bytes; cookie prefix) */
  readonly cookie_prefix?: string | null | undefined;
  /** Seconds without requests after which the visitor must log in again; 0: never. (0 to 4294967295) */
  readonly inactivity_timeout?: number | null | undefined;
  /** Maximum seconds of a session; 0: unlimited. (0 to 4294967295) */
  readonly maximum_duration?: number | null | undefined;
  /** OAuth 2.1 for clients that are not browsers, such as MCP clients: they get tokens for this route. */
  readonly machine_clients?: EndpointMachineClientsReplace | null | undefined;
  /**
   * Seconds after which the edge refreshes the visitor's data from the identity provider and checks access again; 0:
   * only at login. (0 to 4294967295)
   */
  readonly auth_check_interval?: number | null | undefined;
}

/** Identity provider and access lists. Set exactly one provider. */
export interface EndpointOAuthProvider {
  /** Sign-in with GitHub. */
  readonly github: EndpointOAuthGitHub | null;
  /** Sign-in with Facebook. */
  readonly facebook: EndpointOAuthFacebook | null;
  /** Sign-in with Microsoft. */
  readonly microsoft: EndpointOAuthMicrosoft | null;
  /** Sign-in with Google. */
  readonly google: EndpointOAuthGoogle | null;
  /** Sign-in with LinkedIn. */
  readonly linkedin: EndpointOAuthLinkedIn | null;
  /** Sign-in with GitLab. */
  readonly gitlab: EndpointOAuthGitLab | null;
  /** Sign-in with Twitch. */
  readonly twitch: EndpointOAuthTwitch | null;
  /** Sign-in with Amazon. */
  readonly amazon: EndpointOAuthAmazon | null;
}

/** Identity provider and access lists. Set exactly one provider. */
export interface EndpointOAuthProviderReplace {
  /** Sign-in with GitHub. */
  readonly github?: EndpointOAuthGitHubReplace | null | undefined;
  /** Sign-in with Facebook. */
  readonly facebook?: EndpointOAuthFacebookReplace | null | undefined;
  /** Sign-in with Microsoft. */
  readonly microsoft?: EndpointOAuthMicrosoftReplace | null | undefined;
  /** Sign-in with Google. */
  readonly google?: EndpointOAuthGoogleReplace | null | undefined;
  /** Sign-in with LinkedIn. */
  readonly linkedin?: EndpointOAuthLinkedInReplace | null | undefined;
  /** Sign-in with GitLab. */
  readonly gitlab?: EndpointOAuthGitLabReplace | null | undefined;
  /** Sign-in with Twitch. */
  readonly twitch?: EndpointOAuthTwitchReplace | null | undefined;
  /** Sign-in with Amazon. */
  readonly amazon?: EndpointOAuthAmazonReplace | null | undefined;
}

/** Sign-in with GitHub. */
export interface EndpointOAuthGitHub {
  /** OAuth app client ID. If unset: the server's own app for the provider, if it has one. (at most 255 bytes) */
  readonly client_id: string;
  /** OAuth app client secret. (at most 1024 bytes; secret) */
  readonly client_secret: string;
  /** Scopes requested from the provider. (at most 100) */
  readonly scopes: readonly string[];
  /** E-mail addresses of authenticated users allowed access. (at most 1000) */
  readonly email_addresses: readonly string[];
  /** E-mail domains of authenticated users allowed access; subdomains are not included. (at most 1000) */
  readonly email_domains: readonly string[];
  /** Teams whose members have access. (at most 1000) */
  readonly teams: readonly string[];
  /** Organizations whose members have access. (at most 1000) */
  readonly organizations: readonly string[];
}

/** Sign-in with GitHub. */
export interface EndpointOAuthGitHubReplace {
  /** OAuth app client ID. If unset: the server's own app for the provider, if it has one. (at most 255 bytes) */
  readonly client_id?: string | null | undefined;
  /** OAuth app client secret. (at most 1024 bytes; secret) */
  readonly client_secret?: string | null | undefined;
  /** Scopes requested from the provider. (at most 100) */
  readonly scopes?: readonly string[] | null | undefined;
  /** E-mail addresses of authenticated users allowed access. (at most 1000) */
  readonly email_addresses?: readonly string[] | null | undefined;
  /** E-mail domains of authenticated users allowed access; subdomains are not included. (at most 1000) */
  readonly email_domains?: readonly string[] | null | undefined;
  /** Teams whose members have access. (at most 1000) */
  readonly teams?: readonly string[] | null | undefined;
  /** Organizations whose members have access. (at most 1000) */
  readonly organizations?: readonly string[] | null | undefined;
}

/** Sign-in with Facebook. */
export interface EndpointOAuthFacebook {
  /** OAuth app client ID. If unset: the server's own app for the provider, if it has one. (at most 255 bytes) */
  readonly client_id: string;
  /** OAuth app client secret. (at most 1024 bytes; secret) */
  readonly client_secret: string;
  /** Scopes requested from the provider. (at most 100) */
  readonly scopes: readonly string[];
  /** E-mail addresses of authenticated users allowed access. (at most 1000) */
  readonly email_addresses: readonly string[];
  /** E-mail domains of authenticated users allowed access; subdomains are not included. (at most 1000) */
  readonly email_domains: readonly string[];
}

/** Sign-in with Facebook. */
export interface EndpointOAuthFacebookReplace {
  /** OAuth app client ID. If unset: the server's own app for the provider, if it has one. (at most 255 bytes) */
  readonly client_id?: string | null | undefined;
  /** OAuth app client secret. (at most 1024 bytes; secret) */
  readonly client_secret?: string | null | undefined;
  /** Scopes requested from the provider. (at most 100) */
  readonly scopes?: readonly string[] | null | undefined;
  /** E-mail addresses of authenticated users allowed access. (at most 1000) */
  readonly email_addresses?: readonly string[] | null | undefined;
  /** E-mail domains of authenticated users allowed access; subdomains are not included. (at most 1000) */
  readonly email_domains?: readonly string[] | null | undefined;
}

/** Sign-in with Microsoft. */
export interface EndpointOAuthMicrosoft {
  /** OAuth app client ID. If unset: the server's own app for the provider, if it has one. (at most 255 bytes) */
  readonly client_id: string;
  /** OAuth app client secret. (at most 1024 bytes; secret) */
  readonly client_secret: string;
  /** Scopes requested from the provider. (at most 100) */
  readonly scopes: readonly string[];
  /** E-mail addresses of authenticated users allowed access. (at most 1000) */
  readonly email_addresses: readonly string[];
  /** E-mail domains of authenticated users allowed access; subdomains are not included. (at most 1000) */
  readonly email_domains: readonly string[];
}

/** Sign-in with Microsoft. */
export interface EndpointOAuthMicrosoftReplace {
  /** OAuth app client ID. If unset: the server's own app for the provider, if it has one. (at most 255 bytes) */
  readonly client_id?: string | null | undefined;
  /** OAuth app client secret. (at most 1024 bytes; secret) */
  readonly client_secret?: string | null | undefined;
  /** Scopes requested from the provider. (at most 100) */
  readonly scopes?: readonly string[] | null | undefined;
  /** E-mail addresses of authenticated users allowed access. (at most 1000) */
  readonly email_addresses?: readonly string[] | null | undefined;
  /** E-mail domains of authenticated users allowed access; subdomains are not included. (at most 1000) */
  readonly email_domains?: readonly string[] | null | undefined;
}

/** Sign-in with Google. */
export interface EndpointOAuthGoogle {
  /** OAuth app client ID. If unset: the server's own app for the provider, if it has one. (at most 255 bytes) */
  readonly client_id: string;
  /** OAuth app client secret. (at most 1024 bytes; secret) */
  readonly client_secret: string;
  /** Scopes requested from the provider. (at most 100) */
  readonly scopes: readonly string[];
  /** E-mail addresses of authenticated users allowed access. (at most 1000) */
  readonly email_addresses: readonly string[];
  /** E-mail domains of authenticated users allowed access; subdomains are not included. (at most 1000) */
  readonly email_domains: readonly string[];
}

/** Sign-in with Google. */
export interface EndpointOAuthGoogleReplace {
  /** OAuth app client ID. If unset: the server's own app for the provider, if it has one. (at most 255 bytes) */
  readonly client_id?: string | null | undefined;
  /** OAuth app client secret. (at most 1024 bytes; secret) */
  readonly client_secret?: string | null | undefined;
  /** Scopes requested from the provider. (at most 100) */
  readonly scopes?: readonly string[] | null | undefined;
  /** E-mail addresses of authenticated users allowed access. (at most 1000) */
  readonly email_addresses?: readonly string[] | null | undefined;
  /** E-mail domains of authenticated users allowed access; subdomains are not included. (at most 1000) */
  readonly email_domains?: readonly string[] | null | undefined;
}

/** Sign-in with LinkedIn. */
export interface EndpointOAuthLinkedIn {
  /** OAuth app client ID. If unset: the server's own app for the provider, if it has one. (at most 255 bytes) */
  readonly client_id: string;
  /** OAuth app client secret. (at most 1024 bytes; secret) */
  readonly client_secret: string;
  /** Scopes requested from the provider. (at most 100) */
  readonly scopes: readonly string[];
  /** E-mail addresses of authenticated users allowed access. (at most 1000) */
  readonly email_addresses: readonly string[];
  /** E-mail domains of authenticated users allowed access; subdomains are not included. (at most 1000) */
  readonly email_domains: readonly string[];
}

/** Sign-in with LinkedIn. */
export interface EndpointOAuthLinkedInReplace {
  /** OAuth app client ID. If unset: the server's own app for the provider, if it has one. (at most 255 bytes) */
  readonly client_id?: string | null | undefined;
  /** OAuth app client secret. (at most 1024 bytes; secret) */
  readonly client_secret?: string | null | undefined;
  /** Scopes requested from the provider. (at most 100) */
  readonly scopes?: readonly string[] | null | undefined;
  /** E-mail addresses of authenticated users allowed access. (at most 1000) */
  readonly email_addresses?: readonly string[] | null | undefined;
  /** E-mail domains of authenticated users allowed access; subdomains are not included. (at most 1000) */
  readonly email_domains?: readonly string[] | null | undefined;
}

/** Sign-in with GitLab. */
export interface EndpointOAuthGitLab {
  /** OAuth app client ID. If unset: the server's own app for the provider, if it has one. (at most 255 bytes) */
  readonly client_id: string;
  /** OAuth app client secret. (at most 1024 bytes; secret) */
  readonly client_secret: string;
  /** Scopes requested from the provider. (at most 100) */
  readonly scopes: readonly string[];
  /** E-mail addresses of authenticated users allowed access. (at most 1000) */
  readonly email_addresses: readonly string[];
  /** E-mail domains of authenticated users allowed access; subdomains are not included. (at most 1000) */
  readonly email_domains: readonly string[];
}

/** Sign-in with GitLab. */
export interface EndpointOAuthGitLabReplace {
  /** OAuth app client ID. If unset: the server's own app for the provider, if it has one. (at most 255 bytes) */
  readonly client_id?: string | null | undefined;
  /** OAuth app client secret. (at most 1024 bytes; secret) */
  readonly client_secret?: string | null | undefined;
  /** Scopes requested from the provider. (at most 100) */
  readonly scopes?: readonly string[] | null | undefined;
  /** E-mail addresses of authenticated users allowed access. (at most 1000) */
  readonly email_addresses?: readonly string[] | null | undefined;
  /** E-mail domains of authenticated users allowed access; subdomains are not included. (at most 1000) */
  readonly email_domains?: readonly string[] | null | undefined;
}

/** Sign-in with Twitch. */
export interface EndpointOAuthTwitch {
  /** OAuth app client ID. If unset: the server's own app for the provider, if it has one. (at most 255 bytes) */
  readonly client_id: string;
  /** OAuth app client secret. (at most 1024 bytes; secret) */
  readonly client_secret: string;
  /** Scopes requested from the provider. (at most 100) */
  readonly scopes: readonly string[];
  /** E-mail addresses of authenticated users allowed access. (at most 1000) */
  readonly email_addresses: readonly string[];
  /** E-mail domains of authenticated users allowed access; subdomains are not included. (at most 1000) */
  readonly email_domains: readonly string[];
}

/** Sign-in with Twitch. */
export interface EndpointOAuthTwitchReplace {
  /** OAuth app client ID. If unset: the server's own app for the provider, if it has one. (at most 255 bytes) */
  readonly client_id?: string | null | undefined;
  /** OAuth app client secret. (at most 1024 bytes; secret) */
  readonly client_secret?: string | null | undefined;
  /** Scopes requested from the provider. (at most 100) */
  readonly scopes?: readonly string[] | null | undefined;
  /** E-mail addresses of authenticated users allowed access. (at most 1000) */
  readonly email_addresses?: readonly string[] | null | undefined;
  /** E-mail domains of authenticated users allowed access; subdomains are not included. (at most 1000) */
  readonly email_domains?: readonly string[] | null | undefined;
}

/** Sign-in with Amazon. */
export interface EndpointOAuthAmazon {
  /** OAuth app client ID. If unset: the server's own app for the provider, if it has one. (at most 255 bytes) */
  readonly client_id: string;
  /** OAuth app client secret. (at most 1024 bytes; secret) */
  readonly client_secret: string;
  /** Scopes requested from the provider. (at most 100) */
  readonly scopes: readonly string[];
  /** E-mail addresses of authenticated users allowed access. (at most 1000) */
  readonly email_addresses: readonly string[];
  /** E-mail domains of authenticated users allowed access; subdomains are not included. (at most 1000) */
  readonly email_domains: readonly string[];
}

/** Sign-in with Amazon. */
export interface EndpointOAuthAmazonReplace {
  /** OAuth app client ID. If unset: the server's own app for the provider, if it has one. (at most 255 bytes) */
  readonly client_id?: string | null | undefined;
  /** OAuth app client secret. (at most 1024 bytes; secret) */
  readonly client_secret?: string | null | undefined;
  /** Scopes requested from the provider. (at most 100) */
  readonly scopes?: readonly string[] | null | undefined;
  /** E-mail addresses of authenticated users allowed access. (at most 1000) */
  readonly email_addresses?: readonly string[] | null | undefined;
  /** E-mail domains of authenticated users allowed access; subdomains are not included. (at most 1000) */
  readonly email_domains?: readonly string[] | null | undefined;
}

/** OAuth 2.1 for clients that are not browsers, such as MCP clients: they get tokens for this route. */
export interface EndpointMachineClients {
  /** Whether clients can get and use tokens, and service tokens whose `acl` names the route are admitted. */
  readonly enabled: boolean;
  /**
   * How clients become known: `metadata` (the client ID is the URL of a metadata document), `dynamic` (RFC 7591) and
   * `listed` (in `client_ids`). Empty: only service tokens are admitted. (at most 3)
   */
  readonly registration: readonly ("metadata" | "dynamic" | "listed")[];
  /** Allowed client IDs. If empty, every client that `registration` allows. (at most 100) */
  readonly client_ids: readonly string[];
  /**
   * Allowed redirect URIs, compared exactly, besides those of the client's own machine (`http://127.0.0.1`,
   * `http://[::1]` and `http://localhost` with any port). (at most 100)
   */
  readonly redirect_uris: readonly string[];
  /** Scopes that clients can request. (at most 20) */
  readonly scopes: readonly string[];
  /** Requests that need a scope besides the first one of `scopes`. (at most 50) */
  readonly scope_rules: readonly {
    /** The scope, one of `scopes`. (at most 64 bytes; oauth scope) */
    readonly scope: string;
    /**
     * Whether a request needs the scope: an expression over `req.method`, `req.path`, `mcp.method` and `mcp.tool`. The
     * last two are of the JSON-RPC call in the body. A body that cannot be read clearly needs the scope of every rule
     * about them. (at most 1024 bytes; scope expression)
     */
    readonly expression: string;
  }[];
  /** Minutes until an access token expires. (1 to 1440) */
  readonly access_token_minutes: number;
  /** Days until the client needs a new login. (1 to 365) */
  readonly refresh_token_days: number;
  /**
   * When the person confirms a client: for each login, `once` per client with an https redirect URI, or `never`, which
   * requires `registration` to be only `listed`.
   */
  readonly consent: "always" | "once" | "never";
}

/** OAuth 2.1 for clients that are not browsers, such as MCP clients: they get tokens for this route. */
export interface EndpointMachineClientsReplace {
  /** Whether clients can get and use tokens, and service tokens whose `acl` names the route are admitted. */
  readonly enabled?: boolean | null | undefined;
  /**
   * How clients become known: `metadata` (the client ID is the URL of a metadata document), `dynamic` (RFC 7591) and
   * `listed` (in `client_ids`). Empty: only service tokens are admitted. (at most 3)
   */
  readonly registration?: readonly ("metadata" | "dynamic" | "listed")[] | null | undefined;
  /** Allowed client IDs. If empty, every client that `registration` allows. (at most 100) */
  readonly client_ids?: readonly string[] | null | undefined;
  /**
   * Allowed redirect URIs, compared exactly, besides those of the client's own machine (`http://127.0.0.1`,
   * `http://[::1]` and `http://localhost` with any port). (at most 100)
   */
  readonly redirect_uris?: readonly string[] | null | undefined;
  /** Scopes that clients can request. (at most 20) */
  readonly scopes?: readonly string[] | null | undefined;
  /** Requests that need a scope besides the first one of `scopes`. (at most 50) */
  readonly scope_rules?: readonly {
    /** The scope, one of `scopes`. (at most 64 bytes; oauth scope) */
    readonly scope: string;
    /**
     * Whether a request needs the scope: an expression over `req.method`, `req.path`, `mcp.method` and `mcp.tool`. The
     * last two are of the JSON-RPC call in the body. A body that cannot be read clearly needs the scope of every rule
     * about them. (at most 1024 bytes; scope expression)
     */
    readonly expression: string;
  }[] | null | undefined;
  /** Minutes until an access token expires. (1 to 1440) */
  readonly access_token_minutes?: number | null | undefined;
  /** Days until the client needs a new login. (1 to 365) */
  readonly refresh_token_days?: number | null | undefined;
  /**
   * When the person confirms a client: for each login, `once` per client with an https redirect URI, or `never`, which
   * requires `registration` to be only `listed`.
   */
  readonly consent?: "always" | "once" | "never" | null | undefined;
}

/** Requires a login with an OpenID Connect provider. */
export interface EndpointOIDC {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled: boolean;
  /**
   * Allow HTTP OPTIONS requests without a login; CORS needs this. Such requests reach the upstream without the
   * visitor's identity.
   */
  readonly options_passthrough: boolean;
  /** Prefix of the session cookie. (at most 255 bytes; cookie prefix) */
  readonly cookie_prefix: string;
  /** Seconds without requests after which the visitor must log in again; 0: never. (0 to 4294967295) */
  readonly inactivity_timeout: number;
  /** Maximum seconds of a session; 0: unlimited. (0 to 4294967295) */
  readonly maximum_duration: number;
  /** OAuth 2.1 for clients that are not browsers, such as MCP clients: they get tokens for this route. */
  readonly machine_clients: EndpointMachineClients | null;
  /** URL of the OpenID provider; base URL for discovery. (at most 2048 bytes; uri) */
  readonly issuer: string;
  /** Client ID and audience. (at most 255 bytes) */
  readonly client_id: string;
  /** Client secret. (at most 1024 bytes; secret) */
  readonly client_secret: string;
  /** Scopes requested from the provider. (at most 100) */
  readonly scopes: readonly string[];
}

/** Requires a login with an OpenID Connect provider. */
export interface EndpointOIDCReplace {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled?: boolean | null | undefined;
  /**
   * Allow HTTP OPTIONS requests without a login; CORS needs this. Such requests reach the upstream without the
   * visitor's identity.
   */
  readonly options_passthrough?: boolean | null | undefined;
  /** Prefix of the session cookie. (at most 255 bytes; cookie prefix) */
  readonly cookie_prefix?: string | null | undefined;
  /** Seconds without requests after which the visitor must log in again; 0: never. (0 to 4294967295) */
  readonly inactivity_timeout?: number | null | undefined;
  /** Maximum seconds of a session; 0: unlimited. (0 to 4294967295) */
  readonly maximum_duration?: number | null | undefined;
  /** OAuth 2.1 for clients that are not browsers, such as MCP clients: they get tokens for this route. */
  readonly machine_clients?: EndpointMachineClientsReplace | null | undefined;
  /** URL of the OpenID provider; base URL for discovery. (at most 2048 bytes; uri) */
  readonly issuer: string;
  /** Client ID and audience. (at most 255 bytes) */
  readonly client_id: string;
  /** Client secret. (at most 1024 bytes; secret) */
  readonly client_secret: string;
  /** Scopes requested from the provider. (at most 100) */
  readonly scopes?: readonly string[] | null | undefined;
}

/** Requires a login with a SAML identity provider. */
export interface EndpointSAML {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled: boolean;
  /**
   * Allow HTTP OPTIONS requests without a login; CORS needs this. Such requests reach the upstream without the
   * visitor's identity.
   */
  readonly options_passthrough: boolean;
  /** Prefix of the session cookie. (at most 255 bytes; cookie prefix) */
  readonly cookie_prefix: string;
  /** Seconds without requests after which the visitor must log in again; 0: never. (0 to 4294967295) */
  readonly inactivity_timeout: number;
  /** Maximum seconds of a session; 0: unlimited. (0 to 4294967295) */
  readonly maximum_duration: number;
  /** OAuth 2.1 for clients that are not browsers, such as MCP clients: they get tokens for this route. */
  readonly machine_clients: EndpointMachineClients | null;
  /** The full XML IdP EntityDescriptor. (at most 262144 bytes; saml metadata) */
  readonly idp_metadata: string;
  /** URL of the EntityDescriptor, instead of the document. (at most 2048 bytes; uri) */
  readonly idp_metadata_url: string;
  /** If true, the IdP must prompt for credentials on every redirect even if the user has an IdP session. */
  readonly force_authn: boolean;
  /** If true, the IdP may start a login directly; the IdP should set RelayState to the target URL. */
  readonly allow_idp_initiated: boolean;
  /** If present, only members of one of the listed groups may access. (at most 1000) */
  readonly authorized_groups: readonly string[];
  /** Name identifier format expected in assertions. */
  readonly nameid_format: "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent" | "urn:oasis:names:tc:SAML:2.0:nameid-format:transient" | "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress" | "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified" | "urn:oasis:names:tc:SAML:2.0:nameid-format:emailAddress" | "urn:oasis:names:tc:SAML:2.0:nameid-format:unspecified";
  /** The service provider's entity ID, a URL equal to metadata_url. (at most 2048 bytes) */
  readonly entity_id: string;
  /** Public URL of the Assertion Consumer Service. (at most 2048 bytes) */
  readonly assertion_consumer_service_url: string;
  /** Public URL of the Single Logout Service. (at most 2048 bytes) */
  readonly single_logout_url: string;
  /** PEM-encoded X.509 certificate of the key pair that signs SAML requests sent to the IdP. (at most 8192 bytes) */
  readonly request_signing_certificate_pem: string;
  /** Public URL hosting the service provider's metadata. (at most 2048 bytes) */
  readonly metadata_url: string;
}

/** Requires a login with a SAML identity provider. */
export interface EndpointSAMLReplace {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled?: boolean | null | undefined;
  /**
   * Allow HTTP OPTIONS requests without a login; CORS needs this. Such requests reach the upstream without the
   * visitor's identity.
   */
  readonly options_passthrough?: boolean | null | undefined;
  /** Prefix of the session cookie. (at most 255 bytes; cookie prefix) */
  readonly cookie_prefix?: string | null | undefined;
  /** Seconds without requests after which the visitor must log in again; 0: never. (0 to 4294967295) */
  readonly inactivity_timeout?: number | null | undefined;
  /** Maximum seconds of a session; 0: unlimited. (0 to 4294967295) */
  readonly maximum_duration?: number | null | undefined;
  /** OAuth 2.1 for clients that are not browsers, such as MCP clients: they get tokens for this route. */
  readonly machine_clients?: EndpointMachineClientsReplace | null | undefined;
  /** The full XML IdP EntityDescriptor. (at most 262144 bytes; saml metadata) */
  readonly idp_metadata?: string | null | undefined;
  /** URL of the EntityDescriptor, instead of the document. (at most 2048 bytes; uri) */
  readonly idp_metadata_url?: string | null | undefined;
  /** If true, the IdP must prompt for credentials on every redirect even if the user has an IdP session. */
  readonly force_authn?: boolean | null | undefined;
  /** If true, the IdP may start a login directly; the IdP should set RelayState to the target URL. */
  readonly allow_idp_initiated?: boolean | null | undefined;
  /** If present, only members of one of the listed groups may access. (at most 1000) */
  readonly authorized_groups?: readonly string[] | null | undefined;
  /** Name identifier format expected in assertions. */
  readonly nameid_format?: "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent" | "urn:oasis:names:tc:SAML:2.0:nameid-format:transient" | "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress" | "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified" | "urn:oasis:names:tc:SAML:2.0:nameid-format:emailAddress" | "urn:oasis:names:tc:SAML:2.0:nameid-format:unspecified" | null | undefined;
}

/** Applies a traffic policy: rules with expressions and actions, by phase. */
export interface EndpointTrafficPolicy {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled: boolean;
  /** The policy, as JSON or YAML, stored unchanged. (at most 65536 bytes; traffic policy) */
  readonly value: string;
}

/** Applies a traffic policy: rules with expressions and actions, by phase. */
export interface EndpointTrafficPolicyReplace {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled?: boolean | null | undefined;
  /** The policy, as JSON or YAML, stored unchanged. (at most 65536 bytes; traffic policy) */
  readonly value: string;
}

/**
 * Stores webhooks and answers the provider immediately. The server delivers them to the backend, in order of arrival,
 * and retries until the service accepts them.
 */
export interface EndpointInbox {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled: boolean;
  /**
   * Which messages are the same: "provider" for the id that the provider gives a delivery (without such an id, every
   * message is stored), an expression, or empty for none. The server answers a second message with the same value and
   * drops it. In expressions, `body` is the body as text, up to 64 KiB. (at most 1024 bytes; inbox message name)
   */
  readonly dedupe: string;
  /**
   * Expression. The server delivers messages with the same value one after the other, in the order in which they
   * arrived. A failing message holds up only the messages with its value. Empty: in any order. (at most 1024 bytes;
   * inbox line name)
   */
  readonly order_by: string;
  /** Status that the provider gets once the message is stored. (200 to 299) */
  readonly respond_status: number;
  /** Body that the provider gets once the message is stored. (at most 4096 bytes) */
  readonly respond_body: string;
  /** Media type of `respond_body`. (at most 128 bytes) */
  readonly respond_content_type: string;
  /** Methods of the requests to store. Other requests go to the backend directly. (at most 5) */
  readonly methods: readonly ("POST" | "PUT" | "PATCH" | "DELETE" | "GET")[];
  /** Hours for which the server remembers these values. (1 to 8760) */
  readonly dedupe_hours: number;
  /**
   * Sign messages anew with the route's webhook provider and secret when they are delivered, so that the service
   * accepts them late. The original fields follow with the prefix `Postern-Original-`. SNS and SendGrid sign with keys
   * that only they have, so their original signatures stay, and a service that checks the time must accept older ones.
   */
  readonly resign: boolean;
  /** Number of attempts before a message is dead. Attempts that reach no service do not count. (1 to 100) */
  readonly max_attempts: number;
  /** Pause after the first failed attempt, seconds. Each further pause is twice as long. (1 to 86400) */
  readonly first_retry_seconds: number;
  /** Longest pause between attempts, seconds. (1 to 604800) */
  readonly max_retry_seconds: number;
  /** Maximum time for one attempt, seconds. (1 to 600) */
  readonly timeout_seconds: number;
  /** Maximum number of messages that are delivered at the same time. (1 to 64) */
  readonly concurrency: number;
  /** Maximum number of deliveries per second on each node; 0 for no limit. (0 to 10000) */
  readonly rate_per_second: number;
  /** Hours for which delivered messages are kept. (1 to 8760) */
  readonly retain_hours: number;
}

/**
 * Stores webhooks and answers the provider immediately. The server delivers them to the backend, in order of arrival,
 * and retries until the service accepts them.
 */
export interface EndpointInboxReplace {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled?: boolean | null | undefined;
  /**
   * Which messages are the same: "provider" for the id that the provider gives a delivery (without such an id, every
   * message is stored), an expression, or empty for none. The server answers a second message with the same value and
   * drops it. In expressions, `body` is the body as text, up to 64 KiB. (at most 1024 bytes; inbox message name)
   */
  readonly dedupe?: string | null | undefined;
  /**
   * Expression. The server delivers messages with the same value one after the other, in the order in which they
   * arrived. A failing message holds up only the messages with its value. Empty: in any order. (at most 1024 bytes;
   * inbox line name)
   */
  readonly order_by?: string | null | undefined;
  /** Status that the provider gets once the message is stored. (200 to 299) */
  readonly respond_status?: number | null | undefined;
  /** Body that the provider gets once the message is stored. (at most 4096 bytes) */
  readonly respond_body?: string | null | undefined;
  /** Media type of `respond_body`. (at most 128 bytes) */
  readonly respond_content_type?: string | null | undefined;
  /** Methods of the requests to store. Other requests go to the backend directly. (at most 5) */
  readonly methods?: readonly ("POST" | "PUT" | "PATCH" | "DELETE" | "GET")[] | null | undefined;
  /** Hours for which the server remembers these values. (1 to 8760) */
  readonly dedupe_hours?: number | null | undefined;
  /**
   * Sign messages anew with the route's webhook provider and secret when they are delivered, so that the service
   * accepts them late. The original fields follow with the prefix `Postern-Original-`. SNS and SendGrid sign with keys
   * that only they have, so their original signatures stay, and a service that checks the time must accept older ones.
   */
  readonly resign?: boolean | null | undefined;
  /** Number of attempts before a message is dead. Attempts that reach no service do not count. (1 to 100) */
  readonly max_attempts?: number | null | undefined;
  /** Pause after the first failed attempt, seconds. Each further pause is twice as long. (1 to 86400) */
  readonly first_retry_seconds?: number | null | undefined;
  /** Longest pause between attempts, seconds. (1 to 604800) */
  readonly max_retry_seconds?: number | null | undefined;
  /** Maximum time for one attempt, seconds. (1 to 600) */
  readonly timeout_seconds?: number | null | undefined;
  /** Maximum number of messages that are delivered at the same time. (1 to 64) */
  readonly concurrency?: number | null | undefined;
  /** Maximum number of deliveries per second on each node; 0 for no limit. (0 to 10000) */
  readonly rate_per_second?: number | null | undefined;
  /** Hours for which delivered messages are kept. (1 to 8760) */
  readonly retain_hours?: number | null | undefined;
}

/**
 * Stops requests to a failing upstream, and retries after a pause. A failure is a status of 500 or more, or no
 * response.
 */
export interface EndpointCircuitBreaker {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled: boolean;
  /** Seconds to wait after tripping before a request tests the upstream. (0 to 4294967295) */
  readonly tripped_duration: number;
  /** Seconds of the statistical window. (0 to 4294967295) */
  readonly rolling_window: number;
  /** Number of buckets in the window. The oldest bucket is discarded first. (0 to 128) */
  readonly num_buckets: number;
  /** Minimum requests in a window before the circuit can trip. (0 to 4294967295) */
  readonly volume_threshold: number;
  /** Share of failures, 0 to 1, at which the circuit trips. (0 to 1) */
  readonly error_threshold_percentage: number;
}

/**
 * Stops requests to a failing upstream, and retries after a pause. A failure is a status of 500 or more, or no
 * response.
 */
export interface EndpointCircuitBreakerReplace {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled?: boolean | null | undefined;
  /** Seconds to wait after tripping before a request tests the upstream. (0 to 4294967295) */
  readonly tripped_duration?: number | null | undefined;
  /** Seconds of the statistical window. (0 to 4294967295) */
  readonly rolling_window?: number | null | undefined;
  /** Number of buckets in the window. The oldest bucket is discarded first. (0 to 128) */
  readonly num_buckets?: number | null | undefined;
  /** Minimum requests in a window before the circuit can trip. (0 to 4294967295) */
  readonly volume_threshold?: number | null | undefined;
  /** Share of failures, 0 to 1, at which the circuit trips. (0 to 1) */
  readonly error_threshold_percentage?: number | null | undefined;
}

/**
 * Converts WebSockets to TCP: binary messages become bytes on a connection to the backend, and bytes from the backend
 * become binary messages. Text messages and requests without a WebSocket upgrade are rejected.
 */
export interface EndpointWebsocketTCPConverter {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled: boolean;
}

/**
 * Converts WebSockets to TCP: binary messages become bytes on a connection to the backend, and bytes from the backend
 * become binary messages. Text messages and requests without a WebSocket upgrade are rejected.
 */
export interface EndpointWebsocketTCPConverterReplace {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled?: boolean | null | undefined;
}

/** Removes, then adds header fields of the request, just before the request goes upstream. */
export interface EndpointRequestHeaders {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled: boolean;
  /**
   * Header fields to add, after the removals. Values may hold variables as `${…}`, listed in the reference; unknown and
   * empty ones are left out. (at most 32)
   */
  readonly add: Readonly<Record<string, string>>;
  /** Names of header fields to remove, with all their values. (at most 32) */
  readonly remove: readonly string[];
}

/** Removes, then adds header fields of the request, just before the request goes upstream. */
export interface EndpointRequestHeadersReplace {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled?: boolean | null | undefined;
  /**
   * Header fields to add, after the removals. Values may hold variables as `${…}`, listed in the reference; unknown and
   * empty ones are left out. (at most 32)
   */
  readonly add?: Readonly<Record<string, string>> | null | undefined;
  /** Names of header fields to remove, with all their values. (at most 32) */
  readonly remove?: readonly string[] | null | undefined;
}

/** Sets limits on how requests are forwarded to the upstream. */
export interface EndpointForwarding {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled: boolean;
  /**
   * Maximum seconds to the first byte of the response, at most 86400; 0 uses the server's `--response-timeout`. (0 to
   * 86400)
   */
  readonly response_timeout: number;
  /**
   * Accept paths with encoded slashes (`%2F`) or bytes that are not UTF-8, even if routes or rules distinguish paths.
   * The server still rejects a path if decoding its slashes leads to another route.
   */
  readonly encoded_slashes: boolean;
}

/** Sets limits on how requests are forwarded to the upstream. */
export interface EndpointForwardingReplace {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled?: boolean | null | undefined;
  /**
   * Maximum seconds to the first byte of the response, at most 86400; 0 uses the server's `--response-timeout`. (0 to
   * 86400)
   */
  readonly response_timeout?: number | null | undefined;
  /**
   * Accept paths with encoded slashes (`%2F`) or bytes that are not UTF-8, even if routes or rules distinguish paths.
   * The server still rejects a path if decoding its slashes leads to another route.
   */
  readonly encoded_slashes?: boolean | null | undefined;
}

/**
 * Publishes an MCP server (Model Context Protocol, Streamable HTTP). All requests of an MCP session reach the agent
 * that began it; if that agent is gone, they get 404, so that the client begins a new session. Event streams are
 * neither compressed nor buffered.
 */
export interface EndpointMCP {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled: boolean;
}

/**
 * Publishes an MCP server (Model Context Protocol, Streamable HTTP). All requests of an MCP session reach the agent
 * that began it; if that agent is gone, they get 404, so that the client begins a new session. Event streams are
 * neither compressed nor buffered.
 */
export interface EndpointMCPReplace {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled?: boolean | null | undefined;
}

/** Sends traffic to a backend. */
export interface EndpointBackend {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled: boolean;
  /** Backend used to back the endpoint. */
  readonly backend: Ref;
}

/** Sends traffic to a backend. */
export interface EndpointBackendReplace {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled?: boolean | null | undefined;
  /**
   * Backend used to back the endpoint. (id of a tunnel group backend or a weighted backend or a failover backend or an
   * http response backend or a static backend)
   */
  readonly backend_id: string;
}

/**
 * Compresses responses with gzip, deflate, br or zstd, according to the client's Accept-Encoding. Unchanged are encoded
 * or partial bodies, bodies that do not shrink, and responses with `Cache-Control: no-transform`. Responses that repeat
 * input of a logged-in visitor stay unchanged too.
 */
export interface EndpointCompression {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled: boolean;
}

/**
 * Compresses responses with gzip, deflate, br or zstd, according to the client's Accept-Encoding. Unchanged are encoded
 * or partial bodies, bodies that do not shrink, and responses with `Cache-Control: no-transform`. Responses that repeat
 * input of a logged-in visitor stay unchanged too.
 */
export interface EndpointCompressionReplace {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled?: boolean | null | undefined;
}

/** Removes, then adds header fields of the response, just before the response goes to the client. */
export interface EndpointResponseHeaders {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled: boolean;
  /**
   * Header fields to add, after the removals. Values may hold variables as `${…}`, listed in the reference; unknown and
   * empty ones are left out. (at most 32)
   */
  readonly add: Readonly<Record<string, string>>;
  /** Names of header fields to remove, with all their values. (at most 32) */
  readonly remove: readonly string[];
}

/** Removes, then adds header fields of the response, just before the response goes to the client. */
export interface EndpointResponseHeadersReplace {
  /** True if the module is applied to traffic, false to disable. */
  readonly enabled?: boolean | null | undefined;
  /**
   * Header fields to add, after the removals. Values may hold variables as `${…}`, listed in the reference; unknown and
   * empty ones are left out. (at most 32)
   */
  readonly add?: Readonly<Record<string, string>> | null | undefined;
  /** Names of header fields to remove, with all their values. (at most 32) */
  readonly remove?: readonly string[] | null | undefined;
}

/** A public TLS endpoint. Connections go to one backend. The edge terminates TLS or passes it through. */
export interface TLSEdge {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /** Hostports served by the edge; the port is the advertised one. (at most 100) */
  readonly hostports: readonly string[];
  /** Sets where TLS ends, and the allowed TLS versions. */
  readonly tls_termination: EndpointTLSTermination | null;
  /**
   * Requests a client certificate in the TLS handshake, and rejects clients without a certificate of the given CAs. The
   * upstream receives the certificate's subject in `ngrok-mtls-*` header fields.
   */
  readonly mutual_tls: EndpointMutualTLS | null;
  /** Allows a source address only if a rule of the IP policies allows it and no rule denies it. */
  readonly ip_restriction: EndpointIPPolicy | null;
  /**
   * Allows visitors by the country of their address. An address in a country of `deny` is denied. If `allow` has
   * countries, all others are denied, and so are addresses whose country is unknown, such as private ones. Without
   * `allow`, addresses whose country is unknown pass.
   */
  readonly country_restriction: EndpointCountryRestriction | null;
  /** Applies a traffic policy: rules with expressions and actions, by phase. */
  readonly traffic_policy: EndpointTrafficPolicy | null;
  /** Sends traffic to a backend. */
  readonly backend: EndpointBackend | null;
}

/** A public TLS endpoint. Connections go to one backend. The edge terminates TLS or passes it through. */
export interface TLSEdgeCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** Hostports served by the edge; the port is the advertised one. (at most 100) */
  readonly hostports?: readonly string[] | null | undefined;
  /** Sets where TLS ends, and the allowed TLS versions. */
  readonly tls_termination?: EndpointTLSTerminationReplace | null | undefined;
  /**
   * Requests a client certificate in the TLS handshake, and rejects clients without a certificate of the given CAs. The
   * upstream receives the certificate's subject in `ngrok-mtls-*` header fields.
   */
  readonly mutual_tls?: EndpointMutualTLSReplace | null | undefined;
  /** Allows a source address only if a rule of the IP policies allows it and no rule denies it. */
  readonly ip_restriction?: EndpointIPPolicyReplace | null | undefined;
  /**
   * Allows visitors by the country of their address. An address in a country of `deny` is denied. If `allow` has
   * countries, all others are denied, and so are addresses whose country is unknown, such as private ones. Without
   * `allow`, addresses whose country is unknown pass.
   */
  readonly country_restriction?: EndpointCountryRestrictionReplace | null | undefined;
  /** Applies a traffic policy: rules with expressions and actions, by phase. */
  readonly traffic_policy?: EndpointTrafficPolicyReplace | null | undefined;
  /** Sends traffic to a backend. */
  readonly backend?: EndpointBackendReplace | null | undefined;
}

/** A public TLS endpoint. Connections go to one backend. The edge terminates TLS or passes it through. */
export interface TLSEdgeUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** Hostports served by the edge; the port is the advertised one. (at most 100) */
  readonly hostports?: readonly string[] | null | undefined;
  /** Sets where TLS ends, and the allowed TLS versions. */
  readonly tls_termination?: EndpointTLSTerminationReplace | null | undefined;
  /**
   * Requests a client certificate in the TLS handshake, and rejects clients without a certificate of the given CAs. The
   * upstream receives the certificate's subject in `ngrok-mtls-*` header fields.
   */
  readonly mutual_tls?: EndpointMutualTLSReplace | null | undefined;
  /** Allows a source address only if a rule of the IP policies allows it and no rule denies it. */
  readonly ip_restriction?: EndpointIPPolicyReplace | null | undefined;
  /**
   * Allows visitors by the country of their address. An address in a country of `deny` is denied. If `allow` has
   * countries, all others are denied, and so are addresses whose country is unknown, such as private ones. Without
   * `allow`, addresses whose country is unknown pass.
   */
  readonly country_restriction?: EndpointCountryRestrictionReplace | null | undefined;
  /** Applies a traffic policy: rules with expressions and actions, by phase. */
  readonly traffic_policy?: EndpointTrafficPolicyReplace | null | undefined;
  /** Sends traffic to a backend. */
  readonly backend?: EndpointBackendReplace | null | undefined;
}

/** A public TCP endpoint. Connections to its ports go to one backend. */
export interface TCPEdge {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /** Hostports served by the edge; the port is the advertised one. (at most 100) */
  readonly hostports: readonly string[];
  /** Allows a source address only if a rule of the IP policies allows it and no rule denies it. */
  readonly ip_restriction: EndpointIPPolicy | null;
  /**
   * Allows visitors by the country of their address. An address in a country of `deny` is denied. If `allow` has
   * countries, all others are denied, and so are addresses whose country is unknown, such as private ones. Without
   * `allow`, addresses whose country is unknown pass.
   */
  readonly country_restriction: EndpointCountryRestriction | null;
  /** Applies a traffic policy: rules with expressions and actions, by phase. */
  readonly traffic_policy: EndpointTrafficPolicy | null;
  /** Sends traffic to a backend. */
  readonly backend: EndpointBackend | null;
}

/** A public TCP endpoint. Connections to its ports go to one backend. */
export interface TCPEdgeCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** Hostports served by the edge; the port is the advertised one. (at most 100) */
  readonly hostports?: readonly string[] | null | undefined;
  /** Allows a source address only if a rule of the IP policies allows it and no rule denies it. */
  readonly ip_restriction?: EndpointIPPolicyReplace | null | undefined;
  /**
   * Allows visitors by the country of their address. An address in a country of `deny` is denied. If `allow` has
   * countries, all others are denied, and so are addresses whose country is unknown, such as private ones. Without
   * `allow`, addresses whose country is unknown pass.
   */
  readonly country_restriction?: EndpointCountryRestrictionReplace | null | undefined;
  /** Applies a traffic policy: rules with expressions and actions, by phase. */
  readonly traffic_policy?: EndpointTrafficPolicyReplace | null | undefined;
  /** Sends traffic to a backend. */
  readonly backend?: EndpointBackendReplace | null | undefined;
}

/** A public TCP endpoint. Connections to its ports go to one backend. */
export interface TCPEdgeUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** Hostports served by the edge; the port is the advertised one. (at most 100) */
  readonly hostports?: readonly string[] | null | undefined;
  /** Allows a source address only if a rule of the IP policies allows it and no rule denies it. */
  readonly ip_restriction?: EndpointIPPolicyReplace | null | undefined;
  /**
   * Allows visitors by the country of their address. An address in a country of `deny` is denied. If `allow` has
   * countries, all others are denied, and so are addresses whose country is unknown, such as private ones. Without
   * `allow`, addresses whose country is unknown pass.
   */
  readonly country_restriction?: EndpointCountryRestrictionReplace | null | undefined;
  /** Applies a traffic policy: rules with expressions and actions, by phase. */
  readonly traffic_policy?: EndpointTrafficPolicyReplace | null | undefined;
  /** Sends traffic to a backend. */
  readonly backend?: EndpointBackendReplace | null | undefined;
}

/** A named set of secrets. */
export interface Vault {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Name; unique in the account. (at most 255 bytes; not blank) */
  readonly name: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
}

/** A named set of secrets. */
export interface VaultCreate {
  /** Name; unique in the account. (at most 255 bytes; not blank) */
  readonly name: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
}

/** A named set of secrets. */
export interface VaultUpdate {
  /** Name; unique in the account. (at most 255 bytes; not blank) */
  readonly name?: string | undefined;
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
}

/** A write-only value for traffic policies. The API never returns the value. */
export interface Secret {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Name; unique in its vault. (at most 255 bytes; not blank) */
  readonly name: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /** The vault of the secret. */
  readonly vault: Ref | null;
}

/** A write-only value for traffic policies. The API never returns the value. */
export interface SecretCreate {
  /** Name; unique in its vault. (at most 255 bytes; not blank) */
  readonly name: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** The value. (at most 4096 bytes; secret) */
  readonly value: string;
  /** The vault of the secret. (id of a vault) */
  readonly vault_id?: string | null | undefined;
  /** Name of the vault, instead of its id. (at most 255 bytes) */
  readonly vault_name?: string | null | undefined;
}

/** A write-only value for traffic policies. The API never returns the value. */
export interface SecretUpdate {
  /** Name; unique in its vault. (at most 255 bytes; not blank) */
  readonly name?: string | undefined;
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** The value. (at most 4096 bytes; secret) */
  readonly value?: string | undefined;
}

/**
 * A receiver of events. Write events arrive in order and at least once, with retries for a day. For traffic events, at
 * most the last 5,000 wait for the target.
 */
export interface EventDestination {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /** Format of the events. */
  readonly format: "json";
  /** Set exactly one of the members. */
  readonly target: EventTarget;
  /** State of the delivery since the server started. */
  readonly delivery: {
    /** `unsupported`: this server cannot deliver to the target, and `error` has the reason. */
    readonly state: "idle" | "delivering" | "retrying" | "unsupported";
    /** The last error; empty after a successful delivery. (at most 1024 bytes) */
    readonly error: string;
    /** Time of the last successful delivery. */
    readonly last_delivered_at: string | null;
    /** Events delivered. (0 to 4294967295) */
    readonly delivered: number;
    /** Events that were discarded: after a day, or because too many were waiting. (0 to 4294967295) */
    readonly dropped: number;
  };
}

/**
 * A receiver of events. Write events arrive in order and at least once, with retries for a day. For traffic events, at
 * most the last 5,000 wait for the target.
 */
export interface EventDestinationCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** Format of the events. */
  readonly format?: "json" | null | undefined;
  /** Set exactly one of the members. */
  readonly target: EventTargetReplace;
}

/**
 * A receiver of events. Write events arrive in order and at least once, with retries for a day. For traffic events, at
 * most the last 5,000 wait for the target.
 */
export interface EventDestinationUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** Format of the events. */
  readonly format?: "json" | null | undefined;
  /** Set exactly one of the members. */
  readonly target?: EventTargetReplace | undefined;
}

/** Set exactly one of the members. */
export interface EventTarget {
  /** An HTTP server. Each event is a POST request, signed according to the Standard Webhooks specification. */
  readonly webhook: {
    /** URL for the events; https. (at most 2048 bytes; https url) */
    readonly url: string;
    /**
     * Signing secret: `whsec_` and base64, or any text. Generated if absent. (at most 255 bytes; webhook secret;
     * secret)
     */
    readonly secret: string;
  } | null;
  /** A file of JSON lines below `events/` in the server's data directory. Only operators' keys can set it. */
  readonly file: {
    /** Name of the file. (at most 100 bytes; file name) */
    readonly name: string;
  } | null;
  /** AWS Data Firehose: each event is a line of JSON. */
  readonly firehose: {
    /** How to sign in to AWS: `role` or `creds`. */
    readonly auth: {
      /** A role to assume with the operator's AWS key. The external id is the account's id. */
      readonly role: {
        /** ARN of the role. (at most 255 bytes; arn) */
        readonly role_arn: string;
      } | null;
      /** A key pair. */
      readonly creds: {
        /** Id of the key. (at most 255 bytes) */
        readonly aws_access_key_id: string;
        /** The key. (at most 255 bytes; secret) */
        readonly aws_secret_access_key: string;
      } | null;
    };
    /** ARN of the stream. (at most 255 bytes; arn) */
    readonly delivery_stream_arn: string;
    /** URL of Firehose instead of its public address, such as a VPC endpoint; https. (at most 2048 bytes; https url) */
    readonly endpoint: string;
  } | null;
  /** AWS Kinesis Data Streams: each event is a record. */
  readonly kinesis: {
    /** How to sign in to AWS: `role` or `creds`. */
    readonly auth: {
      /** A role to assume with the operator's AWS key. The external id is the account's id. */
      readonly role: {
        /** ARN of the role. (at most 255 bytes; arn) */
        readonly role_arn: string;
      } | null;
      /** A key pair. */
      readonly creds: {
        /** Id of the key. (at most 255 bytes) */
        readonly aws_access_key_id: string;
        /** The key. (at most 255 bytes; secret) */
        readonly aws_secret_access_key: string;
      } | null;
    };
    /** ARN of the stream. (at most 255 bytes; arn) */
    readonly stream_arn: string;
    /** URL of Kinesis instead of its public address, such as a VPC endpoint; https. (at most 2048 bytes; https url) */
    readonly endpoint: string;
  } | null;
  /** AWS CloudWatch Logs: each event is a log event, in the log stream `postern/` and the destination's id. */
  readonly cloudwatch_logs: {
    /** How to sign in to AWS: `role` or `creds`. */
    readonly auth: {
      /** A role to assume with the operator's AWS key. The external id is the account's id. */
      readonly role: {
        /** ARN of the role. (at most 255 bytes; arn) */
        readonly role_arn: string;
      } | null;
      /** A key pair. */
      readonly creds: {
        /** Id of the key. (at most 255 bytes) */
        readonly aws_access_key_id: string;
        /** The key. (at most 255 bytes; secret) */
        readonly aws_secret_access_key: string;
      } | null;
    };
    /** ARN of the log group. (at most 255 bytes; arn) */
    readonly log_group_arn: string;
    /**
     * URL of CloudWatch Logs instead of its public address, such as a VPC endpoint; https. (at most 2048 bytes; https
     * url)
     */
    readonly endpoint: string;
  } | null;
  /** Datadog: each event is a log, through the intake's version 2. */
  readonly datadog: {
    /** API key of the Datadog account. (at most 255 bytes; api key; secret) */
    readonly api_key: string;
    /** Tags of each event: `name:value`, separated by commas. (at most 255 bytes) */
    readonly ddtags: string;
    /** Service name of the events. (at most 255 bytes) */
    readonly service: string;
    /** Site of the account; `datadoghq.com` if empty. (at most 255 bytes; host) */
    readonly ddsite: string;
    /**
     * URL of the log intake, including its path, instead of its public address, such as a VPC endpoint; https. (at most
     * 2048 bytes; https url)
     */
    readonly endpoint: string;
  } | null;
  /** Azure Monitor's Logs Ingestion. Each event is a row, with its time in `TimeGenerated`. */
  readonly azure_logs_ingestion: {
    /** Id of the tenant. (at most 255 bytes) */
    readonly tenant_id: string;
    /** Id of the client. (at most 255 bytes) */
    readonly client_id: string;
    /** Secret of the client. (at most 255 bytes; secret) */
    readonly client_secret: string;
    /**
     * URL for the events: the data collection endpoint, or the endpoint of the rule; https. (at most 2048 bytes; https
     * url)
     */
    readonly logs_ingestion_uri: string;
    /** Immutable id of the data collection rule. (at most 255 bytes) */
    readonly data_collection_rule_id: string;
    /** Name of the stream. (at most 255 bytes) */
    readonly data_collection_stream_name: string;
    /** URL of the token service; `https://login.microsoftonline.com` if empty. (at most 2048 bytes; https url) */
    readonly authority_host: string;
  } | null;
}

/** Set exactly one of the members. */
export interface EventTargetReplace {
  /** An HTTP server. Each event is a POST request, signed according to the Standard Webhooks specification. */
  readonly webhook?: {
    /** URL for the events; https. (at most 2048 bytes; https url) */
    readonly url: string;
    /**
     * Signing secret: `whsec_` and base64, or any text. Generated if absent. (at most 255 bytes; webhook secret;
     * secret)
     */
    readonly secret?: string | null | undefined;
  } | null | undefined;
  /** A file of JSON lines below `events/` in the server's data directory. Only operators' keys can set it. */
  readonly file?: {
    /** Name of the file. (at most 100 bytes; file name) */
    readonly name: string;
  } | null | undefined;
  /** AWS Data Firehose: each event is a line of JSON. */
  readonly firehose?: {
    /** How to sign in to AWS: `role` or `creds`. */
    readonly auth: {
      /** A role to assume with the operator's AWS key. The external id is the account's id. */
      readonly role?: {
        /** ARN of the role. (at most 255 bytes; arn) */
        readonly role_arn: string;
      } | null | undefined;
      /** A key pair. */
      readonly creds?: {
        /** Id of the key. (at most 255 bytes) */
        readonly aws_access_key_id: string;
        /** The key. (at most 255 bytes; secret) */
        readonly aws_secret_access_key: string;
      } | null | undefined;
    };
    /** ARN of the stream. (at most 255 bytes; arn) */
    readonly delivery_stream_arn: string;
    /** URL of Firehose instead of its public address, such as a VPC endpoint; https. (at most 2048 bytes; https url) */
    readonly endpoint?: string | null | undefined;
  } | null | undefined;
  /** AWS Kinesis Data Streams: each event is a record. */
  readonly kinesis?: {
    /** How to sign in to AWS: `role` or `creds`. */
    readonly auth: {
      /** A role to assume with the operator's AWS key. The external id is the account's id. */
      readonly role?: {
        /** ARN of the role. (at most 255 bytes; arn) */
        readonly role_arn: string;
      } | null | undefined;
      /** A key pair. */
      readonly creds?: {
        /** Id of the key. (at most 255 bytes) */
        readonly aws_access_key_id: string;
        /** The key. (at most 255 bytes; secret) */
        readonly aws_secret_access_key: string;
      } | null | undefined;
    };
    /** ARN of the stream. (at most 255 bytes; arn) */
    readonly stream_arn: string;
    /** URL of Kinesis instead of its public address, such as a VPC endpoint; https. (at most 2048 bytes; https url) */
    readonly endpoint?: string | null | undefined;
  } | null | undefined;
  /** AWS CloudWatch Logs: each event is a log event, in the log stream `postern/` and the destination's id. */
  readonly cloudwatch_logs?: {
    /** How to sign in to AWS: `role` or `creds`. */
    readonly auth: {
      /** A role to assume with the operator's AWS key. The external id is the account's id. */
      readonly role?: {
        /** ARN of the role. (at most 255 bytes; arn) */
        readonly role_arn: string;
      } | null | undefined;
      /** A key pair. */
      readonly creds?: {
        /** Id of the key. (at most 255 bytes) */
        readonly aws_access_key_id: string;
        /** The key. (at most 255 bytes; secret) */
        readonly aws_secret_access_key: string;
      } | null | undefined;
    };
    /** ARN of the log group. (at most 255 bytes; arn) */
    readonly log_group_arn: string;
    /**
     * URL of CloudWatch Logs instead of its public address, such as a VPC endpoint; https. (at most 2048 bytes; https
     * url)
     */
    readonly endpoint?: string | null | undefined;
  } | null | undefined;
  /** Datadog: each event is a log, through the intake's version 2. */
  readonly datadog?: {
    /** API key of the Datadog account. (at most 255 bytes; api key; secret) */
    readonly api_key: string;
    /** Tags of each event: `name:value`, separated by commas. (at most 255 bytes) */
    readonly ddtags?: string | null | undefined;
    /** Service name of the events. (at most 255 bytes) */
    readonly service?: string | null | undefined;
    /** Site of the account; `datadoghq.com` if empty. (at most 255 bytes; host) */
    readonly ddsite?: string | null | undefined;
    /**
     * URL of the log intake, including its path, instead of its public address, such as a VPC endpoint; https. (at most
     * 2048 bytes; https url)
     */
    readonly endpoint?: string | null | undefined;
  } | null | undefined;
  /** Azure Monitor's Logs Ingestion. Each event is a row, with its time in `TimeGenerated`. */
  readonly azure_logs_ingestion?: {
    /** Id of the tenant. (at most 255 bytes) */
    readonly tenant_id: string;
    /** Id of the client. (at most 255 bytes) */
    readonly client_id: string;
    /** Secret of the client. (at most 255 bytes; secret) */
    readonly client_secret: string;
    /**
     * URL for the events: the data collection endpoint, or the endpoint of the rule; https. (at most 2048 bytes; https
     * url)
     */
    readonly logs_ingestion_uri: string;
    /** Immutable id of the data collection rule. (at most 255 bytes) */
    readonly data_collection_rule_id: string;
    /** Name of the stream. (at most 255 bytes) */
    readonly data_collection_stream_name: string;
    /** URL of the token service; `https://login.microsoftonline.com` if empty. (at most 2048 bytes; https url) */
    readonly authority_host?: string | null | undefined;
  } | null | undefined;
}

/**
 * Sends events of the selected types to destinations. Write events from before the subscription's creation are not
 * sent.
 */
export interface EventSubscription {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /** Types of events. (at most 200) */
  readonly sources: readonly EventSource[];
  /** Destinations of the events. */
  readonly destinations: readonly Ref[];
}

/**
 * Sends events of the selected types to destinations. Write events from before the subscription's creation are not
 * sent.
 */
export interface EventSubscriptionCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** Types of events. (at most 200) */
  readonly sources?: readonly EventSourceReplace[] | null | undefined;
  /** Destinations of the events. (id of an event destination) */
  readonly destination_ids: readonly string[];
}

/**
 * Sends events of the selected types to destinations. Write events from before the subscription's creation are not
 * sent.
 */
export interface EventSubscriptionUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** Types of events. (at most 200) */
  readonly sources?: readonly EventSourceReplace[] | null | undefined;
  /** Destinations of the events. (id of an event destination) */
  readonly destination_ids?: readonly string[] | undefined;
}

/** A type of event. */
export interface EventSource {
  /**
   * `<resource>_created.v0`, `<resource>_updated.v0`, `<resource>_deleted.v0`, `http_request_complete.v0` or
   * `tcp_connection_closed.v0` or `login_completed.v0` or `login_refused.v0` or `login_ended.v0` or
   * `inbox_message_dead.v0` or `inbox_backlog.v0`. (at most 255 bytes; event type)
   */
  readonly type: string;
  /** URI of the source. (at most 2048 bytes) */
  readonly uri: string;
}

/** A type of event. */
export interface EventSourceReplace {
  /**
   * `<resource>_created.v0`, `<resource>_updated.v0`, `<resource>_deleted.v0`, `http_request_complete.v0` or
   * `tcp_connection_closed.v0` or `login_completed.v0` or `login_refused.v0` or `login_ended.v0` or
   * `inbox_message_dead.v0` or `inbox_backlog.v0`. (at most 255 bytes; event type)
   */
  readonly type: string;
}

/** A person who has logged in at a route. Deleting a user ends all of the user's sessions. */
export interface ApplicationUser {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** The identity provider of the user. */
  readonly identity_provider: {
    /** Name of the provider. (at most 255 bytes) */
    readonly name: string;
    /** URL of the provider. (at most 2048 bytes) */
    readonly url: string;
  };
  /** The user's id at the provider. (at most 1024 bytes) */
  readonly provider_user_id: string;
  /** User name at the provider. (at most 1024 bytes) */
  readonly username: string;
  /** E-mail address at the provider. (at most 1024 bytes) */
  readonly email: string;
  /** Name at the provider. (at most 1024 bytes) */
  readonly name: string;
  /** Time of the user's last request. */
  readonly last_active: string | null;
  /** Time of the user's last login. */
  readonly last_login: string | null;
}

/** A login at a route. Deleting the session logs the visitor out. */
export interface ApplicationSession {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** The address of the login. (at most 2048 bytes) */
  readonly public_url: string;
  /** The visitor's browser. */
  readonly browser_session: {
    /** What the browser reports. */
    readonly user_agent: {
      /** The User-Agent header. (at most 2048 bytes) */
      readonly raw: string;
      /** Name of the browser. (at most 255 bytes) */
      readonly browser_name: string;
      /** Its version. (at most 255 bytes) */
      readonly browser_version: string;
      /** Kind of device. (at most 255 bytes) */
      readonly device_type: string;
      /** Name of the operating system. (at most 255 bytes) */
      readonly os_name: string;
      /** Its version. (at most 255 bytes) */
      readonly os_version: string;
    };
    /** Source address. (at most 255 bytes) */
    readonly ip_address: string;
    /** Location of the address; null if unknown. */
    readonly location: {
      /** ISO 3166 code of the country. (at most 255 bytes) */
      readonly country_code: string;
    } | null;
  };
  /** The logged-in visitor. */
  readonly application_user: Ref;
  /** Identity data from the provider, as lists and rules evaluate it. */
  readonly claims: {
    /** Id at the provider. (at most 1024 bytes) */
    readonly subject: string;
    /** E-mail address. (at most 1024 bytes) */
    readonly email: string;
    /** Whether the provider has verified the address. */
    readonly email_verified: boolean;
    /** Domain that manages the address. (at most 1024 bytes) */
    readonly managed_domain: string;
    /** Name. (at most 1024 bytes) */
    readonly name: string;
    /** User name. (at most 1024 bytes) */
    readonly username: string;
    /** Teams, organizations and groups. (at most 1000) */
    readonly groups: readonly string[];
    /** Time of the visitor's last authentication; null if the provider does not send it. */
    readonly authenticated_at: string | null;
  };
  /** Time of the last use of the session. */
  readonly last_active: string | null;
  /** Time when the session expires. */
  readonly expires_at: string | null;
  /** The endpoint. */
  readonly endpoint: Ref | null;
  /** The edge. */
  readonly edge: Ref | null;
  /** The route. */
  readonly route: Ref | null;
}

/**
 * A token with which a machine passes the logins of routes, without a person. Routes admit it only if their login has
 * `machine_clients`.
 */
export interface ServiceToken {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /** Name of the machine, which services receive. (at most 64 bytes; machine name) */
  readonly name: string;
  /** The token. Returned only when it is created or rotated, null otherwise. (at most 255 bytes) */
  readonly token: string | null;
  /**
   * Places that the token can reach: a host, a host with a path, or the id of a route or endpoint. `*.` covers all
   * hosts below a name. (at most 100)
   */
  readonly acl: readonly string[];
  /** Scopes that the token has besides the first one of each route. (at most 20) */
  readonly scopes: readonly string[];
  /** Time when the token expires; null: never. */
  readonly expires_at: string | null;
  /** Time of the last use, exact to ten minutes; null if it was never used. */
  readonly last_used_at: string | null;
  /** Time when the token before the last rotation expires; null if no such token is valid. */
  readonly previous_expires_at: string | null;
}

/**
 * A token with which a machine passes the logins of routes, without a person. Routes admit it only if their login has
 * `machine_clients`.
 */
export interface ServiceTokenCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** Name of the machine, which services receive. (at most 64 bytes; machine name) */
  readonly name: string;
  /**
   * Places that the token can reach: a host, a host with a path, or the id of a route or endpoint. `*.` covers all
   * hosts below a name. (at most 100)
   */
  readonly acl: readonly string[];
  /** Scopes that the token has besides the first one of each route. (at most 20) */
  readonly scopes?: readonly string[] | null | undefined;
  /** Time when the token expires; null: never. */
  readonly expires_at?: string | null | undefined;
}

/**
 * A token with which a machine passes the logins of routes, without a person. Routes admit it only if their login has
 * `machine_clients`.
 */
export interface ServiceTokenUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /** Name of the machine, which services receive. (at most 64 bytes; machine name) */
  readonly name?: string | undefined;
  /**
   * Places that the token can reach: a host, a host with a path, or the id of a route or endpoint. `*.` covers all
   * hosts below a name. (at most 100)
   */
  readonly acl?: readonly string[] | undefined;
  /** Scopes that the token has besides the first one of each route. (at most 20) */
  readonly scopes?: readonly string[] | null | undefined;
  /** Time when the token expires; null: never. */
  readonly expires_at?: string | null | undefined;
}

/** A connected agent. */
export interface TunnelSession {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Version that the agent reports. (at most 255 bytes) */
  readonly agent_version: string;
  /** The agent token of the session. */
  readonly credential: Ref | null;
  /** Source address of the connection. (at most 255 bytes) */
  readonly ip: string;
  /** Metadata from the agent's configuration. (at most 4096 bytes) */
  readonly metadata: string;
  /** Operating system that the agent reports. (at most 255 bytes) */
  readonly os: string;
  /** Region of the session. (at most 255 bytes) */
  readonly region: string;
  /** Start time of the session. */
  readonly started_at: string | null;
  /** Protocol of the session. (at most 255 bytes) */
  readonly transport: string;
}

/** A running server, alone or one of several with the same database. */
export interface Node {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Postern version of the server. (at most 255 bytes) */
  readonly version: string;
  /** Region of the server, from its setting `region`. (at most 255 bytes) */
  readonly region: string;
  /** URL of the server's API. (at most 255 bytes) */
  readonly api_url: string;
  /** Address for other nodes; null if they do not connect to this node. (at most 255 bytes) */
  readonly peer_address: string | null;
  /** Start time of the server. */
  readonly started_at: string | null;
  /** The last revision that the server has applied. (0 to 9007199254740991) */
  readonly configuration_revision: number;
  /** Connected agents. (0 to 2147483647) */
  readonly agents: number;
  /** Open connections of visitors. (0 to 2147483647) */
  readonly connections: number;
  /**
   * State of the node's lease: `none` for a server that does not share its database, `over` for a server that is
   * disconnected or has failed.
   */
  readonly lease: "none" | "held" | "over";
  /** Time of the last lease renewal, as seen by the answering node; for a single server, the current time. */
  readonly renewed_at: string | null;
}

/** An online tunnel: an agent's own endpoint, or a backend tunnel with labels. */
export interface Tunnel {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** URL of the public endpoint; "" for a backend tunnel. (at most 2048 bytes) */
  readonly public_url: string;
  /** Time when the tunnel came online. */
  readonly started_at: string | null;
  /** Metadata from the agent's configuration. (at most 4096 bytes) */
  readonly metadata: string;
  /** Protocol of the public endpoint; "" for a backend tunnel. */
  readonly proto: "" | "http" | "https" | "tcp" | "tls";
  /** Region of the tunnel. (at most 255 bytes) */
  readonly region: string;
  /** The session of the tunnel. */
  readonly tunnel_session: Ref | null;
  /** The tunnel's endpoint; null for a backend tunnel. */
  readonly endpoint: Ref | null;
  /** Labels that backends match against. (at most 1000) */
  readonly labels: Readonly<Record<string, string>>;
  /** All tunnel group backends that the tunnel serves. */
  readonly backends: readonly Ref[];
  /** Upstream address to which the agent forwards. (at most 2048 bytes) */
  readonly forwards_to: string;
}

/** An address that is online: published by an agent, an edge with an online backend, or a cloud endpoint. */
export interface Endpoint {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Time when it came online; for configured endpoints, the creation time. */
  readonly created_at: string | null;
  /** Time of the last change. */
  readonly updated_at: string | null;
  /** The endpoint's URL, for newer clients. (at most 2048 bytes) */
  readonly url: string;
  /** Kind of object that serves the endpoint. */
  readonly type: "ephemeral" | "edge" | "cloud";
  /** Description of the tunnel's endpoint, the edge or the cloud endpoint. (at most 255 bytes) */
  readonly description: string;
  /** Metadata of the tunnel, edge or cloud endpoint. (at most 4096 bytes) */
  readonly metadata: string;
  /** Visibility of the endpoint. (at most 1000) */
  readonly bindings: readonly string[];
  /** Policy of a cloud endpoint; empty for other kinds. (at most 65536 bytes) */
  readonly traffic_policy: string;
  /** Whether other endpoints can serve the same URL; false for an edge. */
  readonly pooling_enabled: boolean;
  /**
   * Whether the server captures requests here, see the capture guide. Null: as the edge, then the account, then the
   * server says.
   */
  readonly capture: Capture | null;
  /** The region of the endpoint. (at most 255 bytes) */
  readonly region: string;
  /** Its URL. (at most 2048 bytes) */
  readonly public_url: string;
  /** Protocol. (at most 255 bytes) */
  readonly proto: string;
  /** Scheme of the URL. (at most 255 bytes) */
  readonly scheme: string;
  /** Host and port. (at most 260 bytes) */
  readonly hostport: string;
  /** Host. (at most 255 bytes) */
  readonly host: string;
  /** Port. (0 to 4294967295) */
  readonly port: number;
  /** The endpoint's name at its agent; empty for configured endpoints. (at most 255 bytes) */
  readonly name: string;
  /** The reserved domain. */
  readonly domain: Ref | null;
  /** The reserved address. */
  readonly tcp_addr: Ref | null;
  /** The tunnel that serves the endpoint. */
  readonly tunnel: Ref | null;
  /** The edge that serves the endpoint. */
  readonly edge: Ref | null;
  /** The session of the tunnel. */
  readonly tunnel_session: Ref | null;
  /** The owner of the agent token. */
  readonly principal: Ref | null;
  /** Address to which the agent forwards. (at most 2048 bytes) */
  readonly upstream_url: string;
  /** Protocol to the upstream. (at most 255 bytes) */
  readonly upstream_protocol: string;
}

/** An endpoint without an agent: a URL and a traffic policy that answers or forwards requests. */
export interface CloudEndpoint {
  /** Identifier. */
  readonly id: string;
  /** URI of the object. */
  readonly uri: string;
  /** Creation time. */
  readonly created_at: string;
  /** Human-readable description. (at most 255 bytes) */
  readonly description: string;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata: string;
  /**
   * The endpoint's URL: `https://HOST`, `tls://HOST` or `tcp://HOST:PORT`. Each URL has one owner on the server. (at
   * most 300 bytes; endpoint url)
   */
  readonly url: string;
  /** Always `cloud`. */
  readonly type: "cloud";
  /** The policy, as JSON or YAML, stored unchanged. (at most 65536 bytes; traffic policy) */
  readonly traffic_policy: string;
  /**
   * Visibility: `public`, or `internal` for policies of the same account. Default: `internal` for hosts below
   * `.internal`, else `public`. (at most 3)
   */
  readonly bindings: readonly ("public" | "internal" | "kubernetes")[];
  /**
   * Allow several endpoints of the account, including endpoints of agents, with this URL if each has this field. The
   * server chooses one at random for each request or connection.
   */
  readonly pooling_enabled: boolean;
  /**
   * Whether the server captures requests here, see the capture guide. Null: as the edge, then the account, then the
   * server says.
   */
  readonly capture: Capture | null;
  /** Time of the last change. */
  readonly updated_at: string | null;
  /** The region of the endpoint. (at most 255 bytes) */
  readonly region: string;
  /** Its URL. (at most 2048 bytes) */
  readonly public_url: string;
  /** Protocol. (at most 255 bytes) */
  readonly proto: string;
  /** Scheme of the URL. (at most 255 bytes) */
  readonly scheme: string;
  /** Host and port. (at most 260 bytes) */
  readonly hostport: string;
  /** Host. (at most 255 bytes) */
  readonly host: string;
  /** Port. (0 to 4294967295) */
  readonly port: number;
  /** The endpoint's name at its agent; empty for configured endpoints. (at most 255 bytes) */
  readonly name: string;
  /** The reserved domain. */
  readonly domain: Ref | null;
  /** The reserved address. */
  readonly tcp_addr: Ref | null;
  /** The tunnel that serves the endpoint. */
  readonly tunnel: Ref | null;
  /** The edge that serves the endpoint. */
  readonly edge: Ref | null;
  /** The session of the tunnel. */
  readonly tunnel_session: Ref | null;
  /** The owner of the agent token. */
  readonly principal: Ref | null;
  /** Address to which the agent forwards. (at most 2048 bytes) */
  readonly upstream_url: string;
  /** Protocol to the upstream. (at most 255 bytes) */
  readonly upstream_protocol: string;
}

/** An endpoint without an agent: a URL and a traffic policy that answers or forwards requests. */
export interface CloudEndpointCreate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /**
   * The endpoint's URL: `https://HOST`, `tls://HOST` or `tcp://HOST:PORT`. Each URL has one owner on the server. (at
   * most 300 bytes; endpoint url)
   */
  readonly url: string;
  /** Always `cloud`. */
  readonly type: "cloud";
  /** The policy, as JSON or YAML, stored unchanged. (at most 65536 bytes; traffic policy) */
  readonly traffic_policy: string;
  /**
   * Visibility: `public`, or `internal` for policies of the same account. Default: `internal` for hosts below
   * `.internal`, else `public`. (at most 3)
   */
  readonly bindings?: readonly ("public" | "internal" | "kubernetes")[] | null | undefined;
  /**
   * Allow several endpoints of the account, including endpoints of agents, with this URL if each has this field. The
   * server chooses one at random for each request or connection.
   */
  readonly pooling_enabled?: boolean | null | undefined;
  /**
   * Whether the server captures requests here, see the capture guide. Null: as the edge, then the account, then the
   * server says.
   */
  readonly capture?: CaptureReplace | null | undefined;
}

/** An endpoint without an agent: a URL and a traffic policy that answers or forwards requests. */
export interface CloudEndpointUpdate {
  /** Human-readable description. (at most 255 bytes) */
  readonly description?: string | null | undefined;
  /** Arbitrary user-defined machine-readable data. (at most 4096 bytes) */
  readonly metadata?: string | null | undefined;
  /**
   * The endpoint's URL: `https://HOST`, `tls://HOST` or `tcp://HOST:PORT`. Each URL has one owner on the server. (at
   * most 300 bytes; endpoint url)
   */
  readonly url?: string | undefined;
  /** The policy, as JSON or YAML, stored unchanged. (at most 65536 bytes; traffic policy) */
  readonly traffic_policy?: string | undefined;
  /**
   * Visibility: `public`, or `internal` for policies of the same account. Default: `internal` for hosts below
   * `.internal`, else `public`. (at most 3)
   */
  readonly bindings?: readonly ("public" | "internal" | "kubernetes")[] | null | undefined;
  /**
   * Allow several endpoints of the account, including endpoints of agents, with this URL if each has this field. The
   * server chooses one at random for each request or connection.
   */
  readonly pooling_enabled?: boolean | null | undefined;
  /**
   * Whether the server captures requests here, see the capture guide. Null: as the edge, then the account, then the
   * server says.
   */
  readonly capture?: CaptureReplace | null | undefined;
}

/** A page: A tenant. Every other object belongs to one account, and other accounts cannot see it. */
export interface AccountList {
  /** (at most 100) */
  readonly accounts: readonly Account[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/**
 * A page: An identity for a program. API keys and agent tokens of a bot user work only while the bot user is active.
 */
export interface BotUserList {
  /** (at most 100) */
  readonly bot_users: readonly BotUser[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/**
 * A page: An identity for a program. API keys and agent tokens of a bot user work only while the bot user is active.
 */
export interface BotUserListAtServiceUsers {
  /** (at most 100) */
  readonly service_users: readonly BotUser[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A page: A key for this API. */
export interface APIKeyList {
  /** (at most 100) */
  readonly keys: readonly APIKey[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/**
 * A page: Someone who uses the console. An accepted invitation creates the person. Deleting the person ends their
 * sessions immediately.
 */
export interface PersonList {
  /** (at most 100) */
  readonly people: readonly Person[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/**
 * A page: A passkey (WebAuthn credential) with which a person logs in to the console. Deleting the passkey ends the
 * sessions that it opened.
 */
export interface PasskeyList {
  /** (at most 100) */
  readonly passkeys: readonly Passkey[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/**
 * A page: A link with which one person gets access to the console. It works once, and then the invitation no longer
 * exists. For a person who exists already, it adds a passkey.
 */
export interface PersonInvitationList {
  /** (at most 100) */
  readonly person_invitations: readonly PersonInvitation[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/**
 * A page: A login to the console, or an application that may use `/mcp`, with the permissions of an API key or of a
 * person. Deleting the session, its key or its person ends the access.
 */
export interface ConsoleSessionList {
  /** (at most 100) */
  readonly console_sessions: readonly ConsoleSession[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A page: A token that agents use to connect. */
export interface CredentialList {
  /** (at most 100) */
  readonly credentials: readonly Credential[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/**
 * A page: A public key with which an SSH client publishes services (`ssh -R`), if the server runs with `--ssh-listen`.
 */
export interface SSHCredentialList {
  /** (at most 100) */
  readonly ssh_credentials: readonly SSHCredential[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/**
 * A page: A key that signs the certificates of SSH clients. Each client with a valid user certificate publishes
 * services in the account. The user name of its login must be a principal of the certificate.
 */
export interface SSHCertificateAuthorityList {
  /** (at most 100) */
  readonly ssh_certificate_authorities: readonly SSHCertificateAuthority[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/**
 * A page: A code with which `postern join` gets an agent token. Each agent gets its own token, named after its machine.
 * The history lists the joined agents under the invitation's id.
 */
export interface AgentInvitationList {
  /** (at most 100) */
  readonly agent_invitations: readonly AgentInvitation[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A page: A set of rules that allows or denies source addresses. A policy without an allow rule allows no address. */
export interface IPPolicyList {
  /** (at most 100) */
  readonly ip_policies: readonly IPPolicy[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A page: An allow or deny entry of an IP policy. */
export interface IPPolicyRuleList {
  /** (at most 100) */
  readonly ip_policy_rules: readonly IPPolicyRule[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A page: Addresses from which a part of the account can be used; one restriction for each part. */
export interface IPRestrictionList {
  /** (at most 100) */
  readonly ip_restrictions: readonly IPRestriction[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/**
 * A page: CA certificates that verify client certificates. One upload can have several; the shown fields are from the
 * first.
 */
export interface CertificateAuthorityList {
  /** (at most 100) */
  readonly certificate_authorities: readonly CertificateAuthority[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A page: A certificate with its chain and private key. Edges present it for the names in it. */
export interface TLSCertificateList {
  /** (at most 100) */
  readonly tls_certificates: readonly TLSCertificate[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A page: A host name that only this account can use. Hostports of edges reserve their domains automatically. */
export interface ReservedDomainList {
  /** (at most 100) */
  readonly reserved_domains: readonly ReservedDomain[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/**
 * A page: A TCP address that only this account can use. Hostports of TCP edges reserve their addresses automatically.
 */
export interface ReservedAddrList {
  /** (at most 100) */
  readonly reserved_addrs: readonly ReservedAddr[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A page: A backend of all online tunnels with matching labels. */
export interface TunnelGroupBackendList {
  /** (at most 100) */
  readonly backends: readonly TunnelGroupBackend[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/**
 * A page: A backend that tries other backends in order. It uses the next backend only if the previous one is
 * unreachable.
 */
export interface FailoverBackendList {
  /** (at most 100) */
  readonly backends: readonly FailoverBackend[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A page: A backend that distributes traffic among other backends by weight. */
export interface WeightedBackendList {
  /** (at most 100) */
  readonly backends: readonly WeightedBackend[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A page: A backend that answers every request with the same response. */
export interface HTTPResponseBackendList {
  /** (at most 100) */
  readonly backends: readonly HTTPResponseBackend[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A page: A backend at an address that the edge connects to directly. */
export interface StaticBackendList {
  /** (at most 100) */
  readonly backends: readonly StaticBackend[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A page: A public HTTPS endpoint: hostports, TLS settings and a list of routes. */
export interface HTTPSEdgeList {
  /** (at most 100) */
  readonly https_edges: readonly HTTPSEdge[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A page: A public TLS endpoint. Connections go to one backend. The edge terminates TLS or passes it through. */
export interface TLSEdgeList {
  /** (at most 100) */
  readonly tls_edges: readonly TLSEdge[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A page: A public TCP endpoint. Connections to its ports go to one backend. */
export interface TCPEdgeList {
  /** (at most 100) */
  readonly tcp_edges: readonly TCPEdge[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A page: A named set of secrets. */
export interface VaultList {
  /** (at most 100) */
  readonly vaults: readonly Vault[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A page: A write-only value for traffic policies. The API never returns the value. */
export interface SecretList {
  /** (at most 100) */
  readonly secrets: readonly Secret[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/**
 * A page: A receiver of events. Write events arrive in order and at least once, with retries for a day. For traffic
 * events, at most the last 5,000 wait for the target.
 */
export interface EventDestinationList {
  /** (at most 100) */
  readonly event_destinations: readonly EventDestination[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/**
 * A page: Sends events of the selected types to destinations. Write events from before the subscription's creation are
 * not sent.
 */
export interface EventSubscriptionList {
  /** (at most 100) */
  readonly event_subscriptions: readonly EventSubscription[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A page: A person who has logged in at a route. Deleting a user ends all of the user's sessions. */
export interface ApplicationUserList {
  /** (at most 100) */
  readonly application_users: readonly ApplicationUser[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A page: A login at a route. Deleting the session logs the visitor out. */
export interface ApplicationSessionList {
  /** (at most 100) */
  readonly application_sessions: readonly ApplicationSession[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/**
 * A page: A token with which a machine passes the logins of routes, without a person. Routes admit it only if their
 * login has `machine_clients`.
 */
export interface ServiceTokenList {
  /** (at most 100) */
  readonly service_tokens: readonly ServiceToken[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A page: A connected agent. */
export interface TunnelSessionList {
  /** (at most 100) */
  readonly tunnel_sessions: readonly TunnelSession[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A page: A running server, alone or one of several with the same database. */
export interface NodeList {
  /** (at most 100) */
  readonly nodes: readonly Node[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A page: An online tunnel: an agent's own endpoint, or a backend tunnel with labels. */
export interface TunnelList {
  /** (at most 100) */
  readonly tunnels: readonly Tunnel[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A page: An address that is online: published by an agent, an edge with an online backend, or a cloud endpoint. */
export interface EndpointList {
  /** (at most 100) */
  readonly endpoints: readonly Endpoint[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** Whether the agent of a session responds. */
export interface TunnelSessionPulse {
  /** Milliseconds from a heartbeat to its echo; null without an echo within ten seconds. */
  readonly latency_ms: number | null;
  /** Time of the last data from the agent. */
  readonly heard_at: string;
}

/** All sources of a subscription. */
export interface EventSourceList {
  readonly sources: readonly EventSource[];
  /** URI of the list. */
  readonly uri: string;
  /** Always null: the list has one page. */
  readonly next_page_uri: string | null;
}

/** A page of writes. */
export interface RevisionList {
  /** (at most 100) */
  readonly revisions: readonly Revision[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A write with its author, operation, reason and changes. Changed secrets are marked, but not shown. */
export interface Revision {
  /** Number of the revision; later writes have higher numbers. */
  readonly revision: number;
  /** URI of the revision. */
  readonly uri: string;
  /** Time of the write. */
  readonly created_at: string;
  /** Id of the API key, or `system`. */
  readonly principal: string;
  /** Source address of the request, if there was a request. */
  readonly source: string | null;
  /** The operation, such as `updateIPPolicy`. */
  readonly operation: string;
  /** Id of the request, as in its answer and the log. */
  readonly operation_id: string;
  /** The request's `Postern-Reason`, decoded. */
  readonly reason: string;
  /** SHA-256 of the previous revision's hash and this revision's content. */
  readonly hash: string;
  readonly changes: readonly ObjectChange[];
  /** Whether the list omits some changes; the revision itself has all. */
  readonly more_changes: boolean;
}

/** A write's changes to one object. */
export interface ObjectChange {
  readonly action: "create" | "update" | "delete" | "unchanged";
  /** Kind of the object, e.g. `ip_policy`. */
  readonly kind: string;
  readonly id: string;
  /** URI of the object; empty if it no longer exists. */
  readonly uri: string;
  /** The changed fields. */
  readonly fields: readonly {
    readonly path: string;
    /** Format as in requests; `***` replaces a secret, null means unset. */
    readonly before: unknown;
    /** Format as in requests; `***` replaces a secret, null means unset. */
    readonly after: unknown;
  }[];
}

/** Changes that a rollback made or would make. */
export interface Rollback {
  /** Whether the changes were made. */
  readonly applied: boolean;
  /** The new revision; the last one if there was nothing to change, or for a dry run. */
  readonly revision: number;
  /** Names the changes. A write with this value as `plan` makes exactly these changes, or none. */
  readonly hash: string;
  /** URI of the revision. */
  readonly uri: string;
  /** Number of objects. */
  readonly summary: {
    readonly create: number;
    readonly update: number;
    readonly delete: number;
    readonly unchanged: number;
  };
  readonly changes: readonly ObjectChange[];
}

/** The history of traffic. */
export interface MetricsSeries {
  /** URI of the history. */
  readonly uri: string;
  /** Start of the first step. */
  readonly since: string;
  /** End of the last step. */
  readonly until: string;
  /** Length of each step. */
  readonly step_seconds: number;
  /** Whether every node has answered. If not, the numbers are too low. */
  readonly complete: boolean;
  /**
   * One group without `group_by`. With it, the groups with the most traffic, and then the sum of the others, if any.
   */
  readonly groups: readonly ({
    /** Id of the edge or endpoint; null for several services. */
    readonly service_id: string | null;
    /** Host or address at which the service last had traffic. */
    readonly name: string | null;
    /**
     * With `group_by=reason`: the error code in the response, or else the module that denied the request; null for the
     * sum of other reasons.
     */
    readonly reason: string | null;
    /** Description of the error code. */
    readonly reason_text: string | null;
    /** One for each metric. */
    readonly series: readonly ({
      /** Name of the metric. */
      readonly metric: "requests" | "errors" | "forwarded" | "answered" | "denied" | "failed" | "responses_none" | "responses_1xx" | "responses_2xx" | "responses_3xx" | "responses_4xx" | "responses_5xx" | "bytes_in" | "bytes_out" | "connections" | "connections_denied" | "connections_failed" | "refused" | "latency_p50" | "latency_p90" | "latency_p95" | "latency_p99";
      /** Sum or percentile over all steps. */
      readonly total: number | null;
      /** One value per step. Percentiles are null without requests. */
      readonly values: readonly (number | null)[];
    })[];
  })[];
}

/** Messages, newest first. */
export interface InboxMessageList {
  /** The messages. */
  readonly inbox_messages: readonly InboxMessage[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last one. */
  readonly next_page_uri: string | null;
}

/** A webhook in an inbox. */
export interface InboxMessage {
  /** Its id, also in the field `Postern-Inbox-Id` of each delivery. */
  readonly id: string;
  /** URI of the message. */
  readonly uri: string;
  /** The route that received it. */
  readonly route_id: string;
  /**
   * `waiting` for its next attempt, `blocked` by an earlier message of its line, `sending` now, `dead` after the last
   * attempt, `delivered`, `refused` by the service with 410, or `discarded`.
   */
  readonly state: "waiting" | "blocked" | "sending" | "dead" | "delivered" | "refused" | "discarded";
  /** When it was stored. */
  readonly received_at: string;
  /** Time of the next attempt. Null if no attempt is planned. */
  readonly next_attempt_at: string | null;
  /** When it was delivered, refused, dead or discarded. */
  readonly ended_at: string | null;
  /** Number of attempts so far. */
  readonly attempts: number;
  /** Webhook provider that signed it; empty without verification. */
  readonly provider: string;
  /** Type of the event, if the provider names it. */
  readonly event_type: string;
  /** Method of the request. */
  readonly method: string;
  /** Path of the request. */
  readonly path: string;
  /** Address of the sender. */
  readonly source_ip: string;
  /** Id of the request that brought it. */
  readonly request_id: string;
  /** Size with header fields. */
  readonly bytes: number;
  /** Status of the service's last answer. */
  readonly status_code: number | null;
  /** Why the last attempt had no answer: an error code or a clause. */
  readonly error: string | null;
}

/** A webhook in an inbox, with its attempts. */
export interface InboxMessageDetail {
  /** Its id, also in the field `Postern-Inbox-Id` of each delivery. */
  readonly id: string;
  /** URI of the message. */
  readonly uri: string;
  /** The route that received it. */
  readonly route_id: string;
  /**
   * `waiting` for its next attempt, `blocked` by an earlier message of its line, `sending` now, `dead` after the last
   * attempt, `delivered`, `refused` by the service with 410, or `discarded`.
   */
  readonly state: "waiting" | "blocked" | "sending" | "dead" | "delivered" | "refused" | "discarded";
  /** When it was stored. */
  readonly received_at: string;
  /** Time of the next attempt. Null if no attempt is planned. */
  readonly next_attempt_at: string | null;
  /** When it was delivered, refused, dead or discarded. */
  readonly ended_at: string | null;
  /** Number of attempts so far. */
  readonly attempts: number;
  /** Webhook provider that signed it; empty without verification. */
  readonly provider: string;
  /** Type of the event, if the provider names it. */
  readonly event_type: string;
  /** Method of the request. */
  readonly method: string;
  /** Path of the request. */
  readonly path: string;
  /** Address of the sender. */
  readonly source_ip: string;
  /** Id of the request that brought it. */
  readonly request_id: string;
  /** Size with header fields. */
  readonly bytes: number;
  /** Status of the service's last answer. */
  readonly status_code: number | null;
  /** Why the last attempt had no answer: an error code or a clause. */
  readonly error: string | null;
  /** Its attempts, oldest first. */
  readonly attempt_list: readonly ({
    /** Its number, from 1. */
    readonly number: number;
    /** When it began. */
    readonly at: string;
    /** How long it took. */
    readonly duration_ms: number;
    /** Status of the service's answer. */
    readonly status_code: number | null;
    /** Why there was no answer. */
    readonly error: string | null;
  })[];
}

/** The request of a message as it arrived. */
export interface InboxPayload {
  /** Its method. */
  readonly method: string;
  /** Its URL. */
  readonly url: string;
  /** Its header fields in order. */
  readonly headers: readonly {
    /** Name. */
    readonly name: string;
    /** Value. */
    readonly value: string;
  }[];
  /** Its body: text, or base64 if it is not UTF-8. */
  readonly body: string;
  /** Whether `body` is base64. */
  readonly is_base64: boolean;
}

/** Result of a change of messages. */
export interface InboxChange {
  /** Number of messages that were changed, or would be. */
  readonly count: number;
  /** Whether nothing was changed. */
  readonly dry_run: boolean;
}

/** The inboxes with messages that wait or are dead, or that are paused. */
export interface InboxList {
  /** The inboxes. */
  readonly inboxes: readonly Inbox[];
  /** URI of the list. */
  readonly uri: string;
  /** Always null: the list has one page. */
  readonly next_page_uri: string | null;
}

/** The inbox of a route. */
export interface Inbox {
  /** The route. */
  readonly route_id: string;
  /** Messages that are not delivered yet. */
  readonly waiting: number;
  /** Messages whose last attempt failed. */
  readonly dead: number;
  /** When the oldest waiting message arrived. */
  readonly oldest_waiting_at: string | null;
  /** Whether deliveries are paused. */
  readonly paused: boolean;
}

/** A page of requests. */
export interface RequestList {
  /** The requests. (at most 100) */
  readonly requests: readonly Request[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
  readonly incomplete: {
    /**
     * `time`: the search took too long, and the next page continues it. `busy`: too many searches wait. `failed`: a
     * node could not read its captured requests. `silent`: an edge did not answer.
     */
    readonly reason: "time" | "busy" | "failed" | "silent";
    /** Everything from this time on was searched; null if the reason is not `time`. */
    readonly searched_to: string | null;
  } | null;
}

/** A request that has ended at the edge. */
export interface Request {
  /** Id of the request, as in its response. */
  readonly id: string;
  /** URI of the request. */
  readonly uri: string;
  /** End time. */
  readonly ended_at: string;
  /** Method. */
  readonly method: string;
  /** Host, lower case, without port. */
  readonly host: string;
  /** Path in canonical form, without query. */
  readonly path: string;
  /** Address of the client. */
  readonly source_ip: string;
  /**
   * Present country of this address (ISO 3166-1 alpha-2); null if it is unknown, or if no rule and no setting of the
   * server uses locations.
   */
  readonly source_country: string | null;
  /** Id of the edge or endpoint. */
  readonly site_id: string;
  /** Id of the route that matched. */
  readonly route_id: string | null;
  readonly tunnel: {
    /** Its id. */
    readonly id: string;
    /** Id of the session. */
    readonly tunnel_session_id: string;
    /** Address to which the agent forwards. */
    readonly forwards_to: string;
  } | null;
  /** Outcome: sent to an upstream, answered or denied at the edge, or failed. */
  readonly outcome: "forwarded" | "answered" | "denied" | "failed";
  /** Status of the response; 0 if there was none. */
  readonly status_code: number;
  /** Error code in the response. */
  readonly error_code: string | null;
  /** Milliseconds from the header to the end. */
  readonly duration_ms: number;
  /**
   * Milliseconds from forwarding to the start of the upstream's response, through the tunnel; null without a response.
   */
  readonly upstream_ms: number | null;
  /** Body bytes from the client. */
  readonly bytes_in: number;
  /** Body bytes to the client. */
  readonly bytes_out: number;
  /** Whether the response was cut short. */
  readonly cut_short: boolean;
  /** Whether the server captured it with its header fields. */
  readonly captured: boolean;
  /** Id of its trace at the OpenTelemetry collector; null if the server sends no traces. */
  readonly trace_id: string | null;
  /** The decisions, in order. */
  readonly steps: readonly Step[];
}

/** A decision of the router, a module or a backend, with its reason. */
export interface Step {
  /** Name of the module, `router` or `backend`. */
  readonly by: string;
  /** What. */
  readonly outcome: "passed" | "changed" | "denied" | "answered" | "skipped";
  /** Why. */
  readonly reason: string;
  readonly decided_by: {
    /** Its kind, e.g. `ip_policy_rule`. */
    readonly kind: string;
    /** Its id. */
    readonly id: string;
    /** Its revision. */
    readonly revision: number;
  } | null;
  readonly rule: {
    /** Its phase. */
    readonly phase: string;
    /** Position in the phase, from 0. */
    readonly index: number;
    /** How often its conditions were true for real traffic, since the edge started and the conditions last changed. */
    readonly matched: number;
    /** How often a condition or an action failed. */
    readonly failed: number;
    /** Its evaluated expressions, up to the first one that is not true. */
    readonly values: readonly ({
      /** Source text. */
      readonly expression: string;
      /** Its value. */
      readonly outcome: "true" | "false" | "error";
      /** Values of its parts, in order of evaluation. */
      readonly parts: readonly {
        /** Source text. */
        readonly text: string;
        /** Its value. */
        readonly value: string;
      }[];
    })[];
    /** Effects of its actions. */
    readonly actions: readonly {
      /** Its type. */
      readonly type: string;
      /** Outcome of the step. */
      readonly outcome: string;
      /** Effect of the step. */
      readonly reason: string;
    }[];
  } | null;
}

/** A page of connections. */
export interface ConnectionList {
  /** The connections. (at most 100) */
  readonly connections: readonly Connection[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
  readonly incomplete: {
    /**
     * `time`: the search took too long, and the next page continues it. `busy`: too many searches wait. `failed`: a
     * node could not read its captured requests. `silent`: an edge did not answer.
     */
    readonly reason: "time" | "busy" | "failed" | "silent";
    /** Everything from this time on was searched; null if the reason is not `time`. */
    readonly searched_to: string | null;
  } | null;
}

/** A connection to a TLS or TCP edge or endpoint that has ended. */
export interface Connection {
  /** Id of the connection, as in the log and its event. */
  readonly id: string;
  /** URI of the connection. */
  readonly uri: string;
  /** End time. */
  readonly ended_at: string;
  /** Protocol of the edge or endpoint. */
  readonly protocol: "tls" | "tcp";
  /** Host in the TLS client's request. */
  readonly server_name: string | null;
  /** Port of the connection; null if it was not accepted. */
  readonly port: number | null;
  /** Address of the client. */
  readonly source_ip: string;
  /**
   * Present country of this address (ISO 3166-1 alpha-2); null if it is unknown, or if no rule and no setting of the
   * server uses locations.
   */
  readonly source_country: string | null;
  /** Id of the edge or endpoint. */
  readonly site_id: string;
  /**
   * Outcome: forwarded, denied, closed because of an edge error or an account limit, without an upstream, or closed by
   * the client first.
   */
  readonly outcome: "served" | "denied" | "broken" | "account_limit" | "no_upstream" | "abandoned";
  /** Code of the error that ended it. Clients of connections do not see it. */
  readonly error_code: string | null;
  /** Duration, milliseconds. */
  readonly duration_ms: number;
  /** Bytes from the client. */
  readonly bytes_in: number;
  /** Bytes to the client. */
  readonly bytes_out: number;
  /** The decisions, in order. */
  readonly steps: readonly Step[];
}

/**
 * A request and its response as captured by the agent that handled it. Only the agent stores it, without credentials.
 */
export interface Exchange {
  /** Id of the request. */
  readonly request_id: string;
  /** Id from the agent, or the id of this replay. */
  readonly exchange_id: string;
  /** URI of the captured request. */
  readonly uri: string;
  /** For a replay: the `exchange_id` of the original request. */
  readonly replay_of: string | null;
  /** Id of the agent's session. */
  readonly tunnel_session_id: string;
  /** Time of the first byte, by the agent's clock. */
  readonly started_at: string;
  /**
   * State at the agent: `open` is still running; `cut` ended before its response was complete; `upgraded` switched to
   * another protocol; `unreadable` was not valid HTTP.
   */
  readonly outcome: "open" | "complete" | "cut" | "upgraded" | "unreadable";
  /** From the first byte to the last, milliseconds; null if unknown. */
  readonly duration_ms: number | null;
  /** Parts of the time until the response began. */
  readonly timing: {
    /** At the edge, before forwarding, milliseconds; null if unknown. */
    readonly edge_ms: number | null;
    /** In the tunnel, both ways, milliseconds; null if unknown. */
    readonly tunnel_ms: number | null;
    /** Until the service accepted the connection, milliseconds; null if unknown. */
    readonly connect_ms: number | null;
    /** At the service, until its response began, milliseconds; null if unknown. */
    readonly upstream_ms: number | null;
  };
  /** The request to the service. */
  readonly request: {
    /** Method. */
    readonly method: string;
    /** Path and query. */
    readonly target: string;
    /** HTTP version, as sent. */
    readonly protocol: string;
    /** Header fields, in order. */
    readonly headers: readonly {
      /** Name, as sent. */
      readonly name: string;
      /** Value; `(hidden)` for credentials. */
      readonly value: string;
    }[];
    /** A body, without its framing. */
    readonly body: {
      /** The captured start of the body. */
      readonly base64: string;
      /** Bytes of the whole body. */
      readonly bytes: number;
      /** Whether the captured part is incomplete. */
      readonly cut: boolean;
      /** Whether the whole body was transferred. */
      readonly ended: boolean;
    };
  };
  readonly response: {
    /** Status. */
    readonly status_code: number;
    /** HTTP version, as sent. */
    readonly protocol: string;
    /** Header fields, in order. */
    readonly headers: readonly {
      /** Name, as sent. */
      readonly name: string;
      /** Value; `(hidden)` for credentials. */
      readonly value: string;
    }[];
    /** Trailer fields after the body. */
    readonly trailers: readonly {
      /** Name, as sent. */
      readonly name: string;
      /** Value; `(hidden)` for credentials. */
      readonly value: string;
    }[];
    /** A body, without its framing. */
    readonly body: {
      /** The captured start of the body. */
      readonly base64: string;
      /** Bytes of the whole body. */
      readonly bytes: number;
      /** Whether the captured part is incomplete. */
      readonly cut: boolean;
      /** Whether the whole body was transferred. */
      readonly ended: boolean;
    };
  } | null;
  /** Stored replays of the request, newest first. (at most 20) */
  readonly replays: readonly ({
    /** Id from the agent. */
    readonly exchange_id: string;
    /** URI of the captured replay. */
    readonly uri: string;
    /** Time of the replay. */
    readonly started_at: string;
    /** Status of its response; null while the replay has no response. */
    readonly status_code: number | null;
  })[];
}

/** The simulated result for a request or connection. */
export interface Explanation {
  /** Revision of the configuration. */
  readonly revision: number;
  readonly edge: {
    /** Its kind, e.g. `ip_policy_rule`. */
    readonly kind: string;
    /** Its id. */
    readonly id: string;
    /** Its revision. */
    readonly revision: number;
  } | null;
  /** Country of the client (ISO 3166-1 alpha-2), given or looked up; null if it is unknown. */
  readonly source_country: string | null;
  readonly route: {
    /** Its id. */
    readonly id: string;
    /** Revision. */
    readonly revision: number;
  } | null;
  /** Routes that almost match. */
  readonly near_routes: readonly {
    /** Its id. */
    readonly id: string;
    /** Match type. */
    readonly match_type: string;
    /** Match value. */
    readonly match: string;
    /** Reason why it does not match. */
    readonly reason: string;
  }[];
  /** Outcome: sent to an upstream, answered or denied at the edge, or failed. */
  readonly outcome: "forwarded" | "answered" | "denied" | "failed";
  /** The edge's response; null if the request goes upstream. */
  readonly status_code: number | null;
  /** Error code in the response. */
  readonly error_code: string | null;
  /** The decisions, in order. */
  readonly steps: readonly Step[];
  readonly backend: {
    /** Its kind, e.g. `ip_policy_rule`. */
    readonly kind: string;
    /** Its id. */
    readonly id: string;
    /** Its revision. */
    readonly revision: number;
  } | null;
  readonly tunnel: {
    /** Its id. */
    readonly id: string;
    /** Id of the session. */
    readonly tunnel_session_id: string;
    /** Address to which the agent forwards. */
    readonly forwards_to: string;
  } | null;
  /** Address of a static backend. */
  readonly address: string | null;
  /** Header fields as the upstream would get them. */
  readonly request_headers: readonly {
    /** Name, lower case. */
    readonly name: string;
    /** Value. */
    readonly value: string;
  }[];
  readonly response: {
    /** Status. */
    readonly status_code: number;
    /** Header fields. */
    readonly headers: readonly {
      /** Name, lower case. */
      readonly name: string;
      /** Value. */
      readonly value: string;
    }[];
  } | null;
}

/** The language of traffic policies. */
export interface PolicyLanguage {
  /** By the protocol of the policy's endpoint. */
  readonly protocols: {
    /** Its phases. */
    readonly http: readonly {
      /** Its name. */
      readonly phase: string;
      /** Supported action types; `schema` has the fields of each. */
      readonly actions: readonly string[];
      /** Variables that expressions can read. */
      readonly variables: readonly {
        /** Its name. */
        readonly name: string;
        /** Its type, as CEL writes it. */
        readonly type: string;
      }[];
      /** Functions that expressions can call. */
      readonly functions: readonly {
        /** Its name. */
        readonly name: string;
        /** All signatures: `string.startsWith(string) -> bool`. */
        readonly signatures: readonly string[];
      }[];
    }[];
    /** Its phases. */
    readonly tls: readonly {
      /** Its name. */
      readonly phase: string;
      /** Supported action types; `schema` has the fields of each. */
      readonly actions: readonly string[];
      /** Variables that expressions can read. */
      readonly variables: readonly {
        /** Its name. */
        readonly name: string;
        /** Its type, as CEL writes it. */
        readonly type: string;
      }[];
      /** Functions that expressions can call. */
      readonly functions: readonly {
        /** Its name. */
        readonly name: string;
        /** All signatures: `string.startsWith(string) -> bool`. */
        readonly signatures: readonly string[];
      }[];
    }[];
    /** Its phases. */
    readonly tcp: readonly {
      /** Its name. */
      readonly phase: string;
      /** Supported action types; `schema` has the fields of each. */
      readonly actions: readonly string[];
      /** Variables that expressions can read. */
      readonly variables: readonly {
        /** Its name. */
        readonly name: string;
        /** Its type, as CEL writes it. */
        readonly type: string;
      }[];
      /** Functions that expressions can call. */
      readonly functions: readonly {
        /** Its name. */
        readonly name: string;
        /** All signatures: `string.startsWith(string) -> bool`. */
        readonly signatures: readonly string[];
      }[];
    }[];
  };
  /** Calls that name a variable, as in `list.exists(x, x > 1)`. */
  readonly macros: readonly string[];
  /** JSON Schema of policies (2020-12). */
  readonly schema: Readonly<Record<string, unknown>>;
  /** Example policies. */
  readonly examples: readonly ({
    /** What the example does. */
    readonly title: string;
    /** Protocols that support the example. */
    readonly protocols: readonly ("http" | "tls" | "tcp")[];
    /** The policy. */
    readonly policy: string;
  })[];
}

/** Errors of a policy, and its simulated effect. */
export interface PolicyCheck {
  /** Errors that prevent its use, up to twenty, in the order of the text. */
  readonly issues: readonly {
    /** Position in the policy, such as `on_http_request[0].expressions[1]`; empty for the whole policy. */
    readonly path: string;
    /** The error or likely mistake, and a suggestion. */
    readonly message: string;
    /** Line of the text, from 1. */
    readonly line: number;
    /** Column in code points, from 1. */
    readonly column: number;
    /** Error code of a write with this policy. */
    readonly error_code: string;
  }[];
  /** Likely mistakes in accepted values. */
  readonly warnings: readonly {
    /** Position in the policy, such as `on_http_request[0].expressions[1]`; empty for the whole policy. */
    readonly path: string;
    /** The error or likely mistake, and a suggestion. */
    readonly message: string;
    /** Line of the text, from 1. */
    readonly line: number;
    /** Column in code points, from 1. */
    readonly column: number;
  }[];
  /** Null while the policy has errors. */
  readonly explanation: {
    /** Outcome: forwarded, answered or denied by a rule, or not testable without an account. */
    readonly outcome: "forwarded" | "answered" | "denied" | "failed";
    /** Status of a rule's answer; 0 if the connection is dropped, null if the request is forwarded. */
    readonly status_code: number | null;
    /** Internal endpoint to which a rule forwards. */
    readonly forwarded_to: string | null;
    /** The decisions, in order. */
    readonly steps: readonly Step[];
    /** Header fields as the upstream would get them. */
    readonly request_headers: readonly {
      /** Name, lower case. */
      readonly name: string;
      /** Value. */
      readonly value: string;
    }[];
    readonly response: {
      /** Status. */
      readonly status_code: number;
      /** Header fields. */
      readonly headers: readonly {
        /** Name, lower case. */
        readonly name: string;
        /** Value. */
        readonly value: string;
      }[];
      /** Body; null for a page from the edge. */
      readonly body: string | null;
    } | null;
  } | null;
}

/** Whether the request would be allowed, and why. */
export interface Verdict {
  /** Whether it would be allowed. */
  readonly allowed: boolean;
  /** The reason, in a clause. */
  readonly reason: string;
  readonly decided_by: {
    /** Its kind. */
    readonly kind: string;
    /** Its id. */
    readonly id: string;
  } | null;
}

/** A webhook as the provider would send it, by POST. */
export interface SignedWebhook {
  /** Where to. */
  readonly url: string;
  /** Header fields. */
  readonly headers: readonly {
    /** Name, lower case. */
    readonly name: string;
    /** Value. */
    readonly value: string;
  }[];
  /** Body. */
  readonly body: string;
}

/** Objects that refer to another. */
export interface ReferenceList {
  /** At most 100. */
  readonly references: readonly {
    /** Its kind. */
    readonly kind: string;
    /** Its id. */
    readonly id: string;
    /** Its URI. */
    readonly uri: string;
    /** Description of the object. */
    readonly description: string;
  }[];
  /** Whether there are more. */
  readonly more: boolean;
}

/** Configuration that could not be applied. */
export interface ProblemList {
  /** At most 100. */
  readonly problems: readonly ({
    /** Kind of the affected object. */
    readonly kind: string;
    /** Its id. */
    readonly id: string;
    /** Its URI. */
    readonly uri: string;
    /** The affected module; null if the whole object is affected. */
    readonly module: string | null;
    /** Why. */
    readonly message: string;
  })[];
}

/** Values to register at an identity provider. */
export interface LoginAddresses {
  /** URL to which logins return (callback). */
  readonly redirect_uri: string;
  /** URL to which logouts return; null for OAuth. */
  readonly post_logout_redirect_uri: string | null;
  /** URL for the logout notices of an OpenID provider; null for OAuth. */
  readonly backchannel_logout_uri: string | null;
  readonly development_provider: {
    /** Its address. */
    readonly issuer: string;
    /** Client id of this server at the provider. */
    readonly client_id: string;
    /** Client secret of this server: any value, because the provider accepts everything. */
    readonly client_secret: string;
  } | null;
}

/** Recently delivered events. */
export interface DeliveredEvents {
  /**
   * Newest first, at most 100. With several servers: the newest 20 of each other server, with a delay of one second.
   */
  readonly events: readonly {
    /** Its id. */
    readonly id: string;
    /** Its type. */
    readonly type: string;
    /** Time of the event. */
    readonly time: string;
    /** The event as sent, in JSON. */
    readonly body: string;
  }[];
}

/** Changes that a document makes. */
export interface Plan {
  /** Name of the document. */
  readonly document: string;
  /** Whether the changes were made. */
  readonly applied: boolean;
  /** The revision that was written, or the base of the plan. */
  readonly revision: number;
  /** Names the changes. A write with this value as `plan` makes exactly these changes, or none. */
  readonly hash: string;
  /** Number of objects. */
  readonly summary: {
    readonly create: number;
    readonly update: number;
    readonly delete: number;
    readonly unchanged: number;
  };
  readonly changes: readonly PlannedChange[];
  readonly warnings: readonly PlanWarning[];
}

/** A document's changes to one object. */
export interface PlannedChange {
  readonly action: "create" | "update" | "delete" | "unchanged";
  /** Kind of the object, e.g. `ip_policy`. */
  readonly kind: string;
  /** Empty if the object does not exist yet. */
  readonly id: string;
  /** URI of the object; empty if it no longer exists. */
  readonly uri: string;
  /** The changed fields. */
  readonly fields: readonly {
    readonly path: string;
    /** Format as in requests; `***` replaces a secret, null means unset. */
    readonly before: unknown;
    /** Format as in requests; `***` replaces a secret, null means unset. */
    readonly after: unknown;
  }[];
  /** The object's name in the document; null for objects that follow from others. */
  readonly name: string | null;
  /** Whether the document takes over an object that it did not create. */
  readonly adopted: boolean;
}

/** Likely mistakes in accepted values. */
export interface PlanWarning {
  /** Kind of the object. */
  readonly kind: string;
  /** The object's name in the document; null for objects that follow from others. */
  readonly name: string | null;
  /** The field. */
  readonly path: string;
  /** The likely mistake. */
  readonly message: string;
}

/**
 * Objects by kind and name, with the fields for their creation. A field that refers to another object has its name or
 * an id. Missing fields have their defaults. `{"$unchanged": true}` keeps a stored secret.
 */
export interface Document {
  /** Name of the document. Names of objects are unique in it. */
  readonly document?: string;
  /** Delete objects that an earlier version of the document created and that are no longer in it. */
  readonly prune?: boolean;
  /** At most 10000 in all. */
  readonly objects: {
    /** An identity for a program. API keys and agent tokens of a bot user work only while the bot user is active. */
    readonly bot_user?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
    /** A public key with which an SSH client publishes services (`ssh -R`), if the server runs with `--ssh-listen`. */
    readonly ssh_credential?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
    /**
     * A key that signs the certificates of SSH clients. Each client with a valid user certificate publishes services in
     * the account. The user name of its login must be a principal of the certificate.
     */
    readonly ssh_certificate_authority?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
    /** A set of rules that allows or denies source addresses. A policy without an allow rule allows no address. */
    readonly ip_policy?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
    /** An allow or deny entry of an IP policy. */
    readonly ip_policy_rule?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
    /** Addresses from which a part of the account can be used; one restriction for each part. */
    readonly ip_restriction?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
    /**
     * CA certificates that verify client certificates. One upload can have several; the shown fields are from the
     * first.
     */
    readonly certificate_authority?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
    /** A certificate with its chain and private key. Edges present it for the names in it. */
    readonly tls_certificate?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
    /** A host name that only this account can use. Hostports of edges reserve their domains automatically. */
    readonly reserved_domain?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
    /** A TCP address that only this account can use. Hostports of TCP edges reserve their addresses automatically. */
    readonly reserved_addr?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
    /** A backend of all online tunnels with matching labels. */
    readonly tunnel_group_backend?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
    /**
     * A backend that tries other backends in order. It uses the next backend only if the previous one is unreachable.
     */
    readonly failover_backend?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
    /** A backend that distributes traffic among other backends by weight. */
    readonly weighted_backend?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
    /** A backend that answers every request with the same response. */
    readonly http_response_backend?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
    /** A backend at an address that the edge connects to directly. */
    readonly static_backend?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
    /** A public HTTPS endpoint: hostports, TLS settings and a list of routes. */
    readonly https_edge?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
    /**
     * Access rules and destination for the matching requests of an HTTPS edge. The most specific host wins, then exact
     * paths, then the longest prefix.
     */
    readonly https_edge_route?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
    /** A public TLS endpoint. Connections go to one backend. The edge terminates TLS or passes it through. */
    readonly tls_edge?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
    /** A public TCP endpoint. Connections to its ports go to one backend. */
    readonly tcp_edge?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
    /** A named set of secrets. */
    readonly vault?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
    /** A write-only value for traffic policies. The API never returns the value. */
    readonly secret?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
    /**
     * A receiver of events. Write events arrive in order and at least once, with retries for a day. For traffic events,
     * at most the last 5,000 wait for the target.
     */
    readonly event_destination?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
    /**
     * Sends events of the selected types to destinations. Write events from before the subscription's creation are not
     * sent.
     */
    readonly event_subscription?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
    /** An endpoint without an agent: a URL and a traffic policy that answers or forwards requests. */
    readonly cloud_endpoint?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
  };
}

/** A backtest of a candidate configuration, with its results so far. */
export interface Backtest {
  /** Its id. */
  readonly id: string;
  /** Its URI. */
  readonly uri: string;
  /** State. */
  readonly status: "running" | "completed" | "failed" | "cancelled";
  /** Why it failed. */
  readonly error: string | null;
  /** When it was started. */
  readonly created_at: string;
  /** Revision of the configuration that the candidate changes. */
  readonly revision: number;
  /** Number of objects that the candidate changes. */
  readonly changed_objects: number;
  /** Requests that arrived at this time or later are tried. */
  readonly since: string;
  /** Requests that arrived before this time are tried. */
  readonly until: string;
  /** When the earliest tried request arrived. */
  readonly first_request_at: string | null;
  /** When the latest tried request arrived. */
  readonly last_request_at: string | null;
  /** Number of requests that were tried: the sum of `same`, `different` and `unknown`. */
  readonly tried: number;
  /** Requests for which nothing changes. */
  readonly same: number;
  /** Requests for which something changes. */
  readonly different: number;
  /** Requests whose result depends on something that was not captured. */
  readonly unknown: number;
  /** Requests to hosts that the configuration does not serve. */
  readonly skipped: number;
  /**
   * Requests that the present configuration decides in another way than when they arrived, because it has changed
   * since.
   */
  readonly decided_otherwise_before: number;
  /** Places in the captured data whose requests are missing. */
  readonly gaps: number;
  /** Nodes that stopped answering. Their remaining captured requests were not tried. */
  readonly lost_nodes: readonly {
    /** Id of the node. */
    readonly node_id: string;
    /** Captured requests that are missing, as far as the node has listed them. */
    readonly requests: number;
  }[];
  /** Number of requests by difference. */
  readonly differences: {
    /** Requests that the candidate no longer allows: denied, or sent to a login. */
    readonly allowed_to_denied: number;
    /** Requests that the candidate newly allows. */
    readonly denied_to_allowed: number;
    /** Allowed requests that match another route. */
    readonly other_route: number;
    /** Allowed requests that go to another backend. */
    readonly other_backend: number;
    /** Requests with another status or error code. */
    readonly other_status: number;
    /** Allowed requests with another URL, header field or response. */
    readonly other_headers: number;
  };
  /** Why results are unknown. */
  readonly unknown_reasons: readonly {
    /** The reason. */
    readonly reason: string;
    /** Number of requests. */
    readonly requests: number;
  }[];
  /** Causes of the differences, the most frequent first. */
  readonly causes: readonly ({
    /** The difference. */
    readonly difference: "allowed_to_denied" | "denied_to_allowed" | "other_route" | "other_backend" | "other_status" | "other_headers";
    /** Module with the first step that differs; `router` for another route. */
    readonly module: string;
    /** The policy rule. */
    readonly rule: string | null;
    readonly object: {
      /** Its kind. */
      readonly kind: string;
      /** Its id. An object that the document would create has its name instead, here and everywhere else. */
      readonly id: string;
      /** Its name in its document. */
      readonly name: string | null;
    } | null;
    /** Number of requests. */
    readonly requests: number;
    /** Number of different client addresses. */
    readonly sources: {
      /** The number, up to 10,000. */
      readonly count: number;
      /** Whether there are more. */
      readonly more: boolean;
    };
    /** Number of different logged-in users. */
    readonly users: {
      /** The number, up to 10,000. */
      readonly count: number;
      /** Whether there are more. */
      readonly more: boolean;
    };
    /** Number of different paths. */
    readonly paths: {
      /** The number, up to 10,000. */
      readonly count: number;
      /** Whether there are more. */
      readonly more: boolean;
    };
  })[];
  /** The first and the last request with a difference, and up to twenty between them. */
  readonly examples: readonly ({
    /** Its request id. */
    readonly request_id: string;
    /** When it was received. */
    readonly received_at: string;
    /** Method. */
    readonly method: string;
    /** Host. */
    readonly host: string;
    /** Path. */
    readonly path: string;
    /** Address of the client. */
    readonly source_ip: string;
    /** E-mail address of the logged-in user. */
    readonly user: string | null;
    /** The difference. */
    readonly difference: "allowed_to_denied" | "denied_to_allowed" | "other_route" | "other_backend" | "other_status" | "other_headers";
    /** What one of the two configurations decides. */
    readonly before: {
      /** Outcome. */
      readonly outcome: "forwarded" | "answered" | "denied" | "failed";
      /** Status for the client; null if only the upstream could tell. */
      readonly status_code: number | null;
      /** Error code. */
      readonly error_code: string | null;
      /** The route. */
      readonly route_id: string | null;
      /** The backend. */
      readonly backend_id: string | null;
      /** The decisions, in order. */
      readonly steps: readonly Step[];
    };
    /** What one of the two configurations decides. */
    readonly after: {
      /** Outcome. */
      readonly outcome: "forwarded" | "answered" | "denied" | "failed";
      /** Status for the client; null if only the upstream could tell. */
      readonly status_code: number | null;
      /** Error code. */
      readonly error_code: string | null;
      /** The route. */
      readonly route_id: string | null;
      /** The backend. */
      readonly backend_id: string | null;
      /** The decisions, in order. */
      readonly steps: readonly Step[];
    };
  })[];
}

/** A backtest to start, with exactly one of `document` and `draft`. */
export interface BacktestRequest {
  readonly document?: Document | null;
  /** A traffic policy to use instead of the policy of a route: only for keys that may write and read everything. */
  readonly draft?: {
    /** Id of the route. (at most 64 bytes) */
    readonly route_id: string;
    /** The policy, as JSON or YAML; empty: none. (at most 65536 bytes; traffic policy) */
    readonly traffic_policy: string;
  } | null;
  /** Start of the requests to try, RFC 3339. Default: 24 hours ago. (at most 64 bytes) */
  readonly since?: string | null;
  /** End of the requests to try, RFC 3339. Default: now. (at most 64 bytes) */
  readonly until?: string | null;
  /** Which requests to try. Every given condition must hold. */
  readonly filter?: {
    /** Outcome at their time. */
    readonly outcome?: "forwarded" | "answered" | "denied" | "failed" | null;
    /** Status at their time; 0: any. (0 to 599) */
    readonly status_code?: number | null;
    /** Module that acted at their time, such as `ip_restriction`. (at most 255 bytes) */
    readonly module?: string | null;
    /** Id or name of a rule that acted at their time. (at most 255 bytes) */
    readonly rule?: string | null;
    /** Address of the client. (at most 255 bytes; ip) */
    readonly source_ip?: string | null;
    /** Path, or its beginning with `*` at the end. (at most 4096 bytes) */
    readonly path?: string | null;
    /** E-mail address or id of the visitor. (at most 320 bytes) */
    readonly user?: string | null;
    /** Text in the request id, method, host, path, address, status, error or user. (at most 255 bytes) */
    readonly text?: string | null;
  } | null;
}

/** A link to the console. */
export interface ConsoleLink {
  /** Open this URL in a browser. It logs in once, with the permissions of the API key. */
  readonly url: string;
  /** Time when the link expires. */
  readonly expires_at: string;
}
