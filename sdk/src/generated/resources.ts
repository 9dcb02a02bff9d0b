/** The methods of the SDK. */
import type { CallOptions, ReadOptions } from "../call-options.ts";
import type { Listing } from "../listing.ts";
import type {
  APIKey,
  APIKeyCreate,
  APIKeyUpdate,
  Account,
  AccountCreate,
  AccountUpdate,
  AgentInvitation,
  AgentInvitationCreate,
  AgentInvitationUpdate,
  ApplicationSession,
  ApplicationUser,
  Backtest,
  BacktestRequest,
  BotUser,
  BotUserCreate,
  BotUserUpdate,
  CertificateAuthority,
  CertificateAuthorityCreate,
  CertificateAuthorityUpdate,
  CloudEndpoint,
  CloudEndpointCreate,
  CloudEndpointUpdate,
  Connection,
  ConsoleLink,
  ConsoleSession,
  Credential,
  CredentialCreate,
  CredentialUpdate,
  DeliveredEvents,
  Document,
  Endpoint,
  EndpointBackend,
  EndpointBackendReplace,
  EndpointCircuitBreaker,
  EndpointCircuitBreakerReplace,
  EndpointCompression,
  EndpointCompressionReplace,
  EndpointCountryRestriction,
  EndpointCountryRestrictionReplace,
  EndpointForwarding,
  EndpointForwardingReplace,
  EndpointIPPolicy,
  EndpointIPPolicyReplace,
  EndpointInbox,
  EndpointInboxReplace,
  EndpointMCP,
  EndpointMCPReplace,
  EndpointMutualTLS,
  EndpointMutualTLSReplace,
  EndpointOAuth,
  EndpointOAuthReplace,
  EndpointOIDC,
  EndpointOIDCReplace,
  EndpointRequestHeaders,
  EndpointRequestHeadersReplace,
  EndpointResponseHeaders,
  EndpointResponseHeadersReplace,
  EndpointSAML,
  EndpointSAMLReplace,
  EndpointTLSTermination,
  EndpointTLSTerminationReplace,
  EndpointTrafficPolicy,
  EndpointTrafficPolicyReplace,
  EndpointUserAgentFilter,
  EndpointUserAgentFilterReplace,
  EndpointWebhookValidation,
  EndpointWebhookValidationReplace,
  EndpointWebsocketTCPConverter,
  EndpointWebsocketTCPConverterReplace,
  EventDestination,
  EventDestinationCreate,
  EventDestinationUpdate,
  EventSource,
  EventSubscription,
  EventSubscriptionCreate,
  EventSubscriptionUpdate,
  Exchange,
  Explanation,
  FailoverBackend,
  FailoverBackendCreate,
  FailoverBackendUpdate,
  HTTPResponseBackend,
  HTTPResponseBackendCreate,
  HTTPResponseBackendUpdate,
  HTTPSEdge,
  HTTPSEdgeCreate,
  HTTPSEdgeRoute,
  HTTPSEdgeRouteCreate,
  HTTPSEdgeRouteUpdate,
  HTTPSEdgeUpdate,
  IPPolicy,
  IPPolicyCreate,
  IPPolicyRule,
  IPPolicyRuleCreate,
  IPPolicyRuleUpdate,
  IPPolicyUpdate,
  IPRestriction,
  IPRestrictionCreate,
  IPRestrictionUpdate,
  Inbox,
  InboxChange,
  InboxMessage,
  InboxMessageDetail,
  InboxPayload,
  LoginAddresses,
  MetricsSeries,
  Node,
  Passkey,
  Person,
  PersonInvitation,
  PersonInvitationCreate,
  PersonInvitationUpdate,
  PersonUpdate,
  Plan,
  PolicyCheck,
  PolicyLanguage,
  ProblemList,
  ReferenceList,
  Request,
  ReservedAddr,
  ReservedAddrCreate,
  ReservedAddrUpdate,
  ReservedDomain,
  ReservedDomainCreate,
  ReservedDomainUpdate,
  Revision,
  Rollback,
  SSHCertificateAuthority,
  SSHCertificateAuthorityCreate,
  SSHCertificateAuthorityUpdate,
  SSHCredential,
  SSHCredentialCreate,
  SSHCredentialUpdate,
  Secret,
  SecretCreate,
  SecretUpdate,
  ServiceToken,
  ServiceTokenCreate,
  ServiceTokenUpdate,
  SignedWebhook,
  StaticBackend,
  StaticBackendCreate,
  StaticBackendUpdate,
  TCPEdge,
  TCPEdgeCreate,
  TCPEdgeUpdate,
  TLSCertificate,
  TLSCertificateCreate,
  TLSCertificateUpdate,
  TLSEdge,
  TLSEdgeCreate,
  TLSEdgeUpdate,
  Tunnel,
  TunnelGroupBackend,
  TunnelGroupBackendCreate,
  TunnelGroupBackendUpdate,
  TunnelSession,
  TunnelSessionPulse,
  Vault,
  VaultCreate,
  VaultUpdate,
  Verdict,
  WeightedBackend,
  WeightedBackendCreate,
  WeightedBackendUpdate,
} from "./types.ts";

export interface MetricsSeriesOptions extends ReadOptions {
  /** Metrics, separated by commas, at most 10. Default: `requests,errors`, or `refused` with `group_by=reason`. */
  readonly metric?: string | undefined;
  /**
   * Only entries that began at or after this time: RFC 3339, or a time ago, such as `24h` or `30m`. A series begins
   * with the step that contains it, by default an hour before its end.
   */
  readonly since?: string | undefined;
  /** Only entries that began before this time, in the same form. A series ends with the step that contains it. */
  readonly until?: string | undefined;
  /** Length of each step. Default: the shortest that leads to at most 170 steps. */
  readonly step?: "1m" | "5m" | "10m" | "15m" | "30m" | "1h" | "2h" | "3h" | "6h" | "12h" | "1d" | undefined;
  /** Groups the traffic. `reason` counts what was denied or failed by its reason. */
  readonly group_by?: "none" | "service" | "reason" | undefined;
  /** Id of an edge or endpoint: only its traffic. */
  readonly service_id?: string | undefined;
  /** Maximum number of groups, besides the sum of the others. */
  readonly groups?: number | undefined;
}

export interface LoginAddressesOptions extends ReadOptions {
  /** Issuer of an OpenID provider. */
  readonly issuer?: string | undefined;
}

export interface ApplyOptions extends CallOptions {
  /** Hash of a plan: makes the changes only if they are exactly those of the plan. */
  readonly plan?: string | undefined;
}

export interface ExportOptions extends ReadOptions {
  /** Name of the document. */
  readonly document?: string | undefined;
  /** `true` includes the secrets that the key may read. */
  readonly secrets?: boolean | undefined;
}

export interface GetReadinessOptions extends ReadOptions {
  readonly of?: string | undefined;
}

export interface CreateOptions extends CallOptions {
  /** `true` returns the planned changes without making them. */
  readonly dry_run?: boolean | undefined;
}

export interface ListOptions extends ReadOptions {
  /** Maximum objects on the page. */
  readonly limit?: number | undefined;
  /** Id of the last object on the previous page. */
  readonly before_id?: string | undefined;
  /** A condition on the objects, such as `obj.metadata.contains('team-a')`. */
  readonly filter?: string | undefined;
  /** Number of the revision to read. */
  readonly at_revision?: number | undefined;
}

export interface GetOptions extends ReadOptions {
  /** Number of the revision to read. */
  readonly at_revision?: number | undefined;
}

export interface PasskeysListOptions extends ReadOptions {
  /** Maximum objects on the page. */
  readonly limit?: number | undefined;
  /** Id of the last object on the previous page. */
  readonly before_id?: string | undefined;
  /** A condition on the objects, such as `obj.metadata.contains('team-a')`. */
  readonly filter?: string | undefined;
  readonly person_id?: string | undefined;
  /** Number of the revision to read. */
  readonly at_revision?: number | undefined;
}

export interface VaultsSecretsListOptions extends ReadOptions {
  /** Maximum objects on the page. */
  readonly limit?: number | undefined;
  /** Id of the last object on the previous page. */
  readonly before_id?: string | undefined;
}

export interface AppUsersListOptions extends ReadOptions {
  /** Maximum objects on the page. */
  readonly limit?: number | undefined;
  /** Id of the last object on the previous page. */
  readonly before_id?: string | undefined;
  /** A condition on the objects, such as `obj.metadata.contains('team-a')`. */
  readonly filter?: string | undefined;
}

export interface EndpointsListOptions extends ReadOptions {
  /** Maximum objects on the page. */
  readonly limit?: number | undefined;
  /** Id of the last object on the previous page. */
  readonly before_id?: string | undefined;
  /** A condition on the objects, such as `obj.metadata.contains('team-a')`. */
  readonly filter?: string | undefined;
  /** Only objects with this id; can be given several times. */
  readonly id?: string | undefined;
  /** Only objects with this URL; can be given several times. */
  readonly url?: string | undefined;
}

export interface RevisionsListOptions extends ReadOptions {
  /** Maximum objects on the page. */
  readonly limit?: number | undefined;
  /** Id of the last object on the previous page. */
  readonly before_id?: string | undefined;
  /** Id of the API key that made the change. */
  readonly principal?: string | undefined;
  /** Id of the operation, such as `createIPPolicy`. */
  readonly operation?: string | undefined;
  /** Kind of the object that was changed, such as `ip_policy`. */
  readonly kind?: string | undefined;
  /** Id of the object that was changed. */
  readonly object_id?: string | undefined;
}

export interface RollbackOptions extends CallOptions {
  /** `true` returns the planned changes without making them. */
  readonly dry_run?: boolean | undefined;
  /** Hash of a plan: makes the changes only if they are exactly those of the plan. */
  readonly plan?: string | undefined;
}

export interface InboxMessagesListOptions extends ReadOptions {
  /** Maximum objects on the page. */
  readonly limit?: number | undefined;
  /** Id of the last object on the previous page. */
  readonly before_id?: string | undefined;
  /** Only messages of this route. */
  readonly route_id?: string | undefined;
  /** Only messages in this state. */
  readonly state?: string | undefined;
  /** Only messages of this webhook provider. */
  readonly provider?: string | undefined;
  /** Only messages with this event type. */
  readonly event_type?: string | undefined;
  /**
   * Only entries that began at or after this time: RFC 3339, or a time ago, such as `24h` or `30m`. A series begins
   * with the step that contains it, by default an hour before its end.
   */
  readonly since?: string | undefined;
  /**
   * Only entries with this text in their id, method, host and path, address, event type or status. Case does not
   * matter.
   */
  readonly text?: string | undefined;
}

export interface DeliverAllOptions extends CallOptions {
  /** Only messages of this route. */
  readonly route_id?: string | undefined;
  /** Only messages in this state. */
  readonly state?: string | undefined;
  /** Only messages of this webhook provider. */
  readonly provider?: string | undefined;
  /** Only messages with this event type. */
  readonly event_type?: string | undefined;
  /**
   * Only entries that began at or after this time: RFC 3339, or a time ago, such as `24h` or `30m`. A series begins
   * with the step that contains it, by default an hour before its end.
   */
  readonly since?: string | undefined;
  /**
   * Only entries with this text in their id, method, host and path, address, event type or status. Case does not
   * matter.
   */
  readonly text?: string | undefined;
  /** `true` returns the planned changes without making them. */
  readonly dry_run?: boolean | undefined;
}

export interface RequestsListOptions extends ReadOptions {
  /** Maximum objects on the page. */
  readonly limit?: number | undefined;
  /** Id of the last object on the previous page. */
  readonly before_id?: string | undefined;
  /** Only entries with this outcome. */
  readonly outcome?: string | undefined;
  /**
   * Only entries with this text in their id, method, host and path, address, event type or status. Case does not
   * matter.
   */
  readonly text?: string | undefined;
  /**
   * Only entries that began at or after this time: RFC 3339, or a time ago, such as `24h` or `30m`. A series begins
   * with the step that contains it, by default an hour before its end.
   */
  readonly since?: string | undefined;
  /** Only entries that began before this time, in the same form. A series ends with the step that contains it. */
  readonly until?: string | undefined;
  /** Only entries on which this module acted, such as `ip_restriction`. */
  readonly module?: string | undefined;
  /** Only entries in which the object with this id decided, such as a rule of an IP policy. */
  readonly rule?: string | undefined;
  /** Only entries from this address. */
  readonly source_ip?: string | undefined;
  /** Only entries with this status; 0 for those without a response. */
  readonly status?: string | undefined;
  /** Only entries with this canonical path. `*` at its end stands for any rest. */
  readonly path?: string | undefined;
  /** Only entries of the visitor with this e-mail address or id. */
  readonly user?: string | undefined;
}

export interface RequestsExportGetOptions extends ReadOptions {
  /** `jsonl` (default) for JSON Lines, or `har` for an HTTP archive. */
  readonly format?: string | undefined;
  /** Only entries with this outcome. */
  readonly outcome?: string | undefined;
  /**
   * Only entries with this text in their id, method, host and path, address, event type or status. Case does not
   * matter.
   */
  readonly text?: string | undefined;
  /**
   * Only entries that began at or after this time: RFC 3339, or a time ago, such as `24h` or `30m`. A series begins
   * with the step that contains it, by default an hour before its end.
   */
  readonly since?: string | undefined;
  /** Only entries that began before this time, in the same form. A series ends with the step that contains it. */
  readonly until?: string | undefined;
  /** Only entries on which this module acted, such as `ip_restriction`. */
  readonly module?: string | undefined;
  /** Only entries in which the object with this id decided, such as a rule of an IP policy. */
  readonly rule?: string | undefined;
  /** Only entries from this address. */
  readonly source_ip?: string | undefined;
  /** Only entries with this status; 0 for those without a response. */
  readonly status?: string | undefined;
  /** Only entries with this canonical path. `*` at its end stands for any rest. */
  readonly path?: string | undefined;
  /** Only entries of the visitor with this e-mail address or id. */
  readonly user?: string | undefined;
}

export interface RequestsExchangeGetOptions extends ReadOptions {
  /** `exchange_id` of a replay, instead of the request itself. */
  readonly exchange_id?: string | undefined;
}

export interface ConnectionsListOptions extends ReadOptions {
  /** Maximum objects on the page. */
  readonly limit?: number | undefined;
  /** Id of the last object on the previous page. */
  readonly before_id?: string | undefined;
  /** Only entries with this outcome. */
  readonly outcome?: string | undefined;
  /**
   * Only entries with this text in their id, method, host and path, address, event type or status. Case does not
   * matter.
   */
  readonly text?: string | undefined;
  /**
   * Only entries that began at or after this time: RFC 3339, or a time ago, such as `24h` or `30m`. A series begins
   * with the step that contains it, by default an hour before its end.
   */
  readonly since?: string | undefined;
  /** Only entries that began before this time, in the same form. A series ends with the step that contains it. */
  readonly until?: string | undefined;
  /** Only entries on which this module acted, such as `ip_restriction`. */
  readonly module?: string | undefined;
  /** Only entries in which the object with this id decided, such as a rule of an IP policy. */
  readonly rule?: string | undefined;
  /** Only entries from this address. */
  readonly source_ip?: string | undefined;
}

/** Everything that the API offers, by the words of its paths. */
export interface Resources {
  readonly accounts: Accounts;
  readonly botUsers: BotUsers;
  readonly serviceUsers: ServiceUsers;
  readonly apiKeys: ApiKeys;
  readonly people: People;
  readonly passkeys: Passkeys;
  readonly personInvitations: PersonInvitations;
  readonly consoleSessions: ConsoleSessions;
  readonly credentials: Credentials;
  readonly sshCredentials: SshCredentials;
  readonly sshCertificateAuthorities: SshCertificateAuthorities;
  readonly agentInvitations: AgentInvitations;
  readonly ipPolicies: IpPolicies;
  readonly ipPolicyRules: IpPolicyRules;
  readonly ipRestrictions: IpRestrictions;
  readonly certificateAuthorities: CertificateAuthorities;
  readonly tlsCertificates: TlsCertificates;
  readonly reservedDomains: ReservedDomains;
  readonly reservedAddrs: ReservedAddrs;
  readonly backends: Backends;
  readonly edges: Edges;
  readonly vaults: Vaults;
  readonly vaultSecrets: VaultSecrets;
  readonly eventDestinations: EventDestinations;
  readonly eventSubscriptions: EventSubscriptions;
  readonly app: App;
  readonly serviceTokens: ServiceTokens;
  readonly tunnelSessions: TunnelSessions;
  readonly nodes: Nodes;
  readonly tunnels: Tunnels;
  readonly endpoints: Endpoints;
  readonly revisions: Revisions;
  readonly inboxMessages: InboxMessages;
  readonly inboxes: Inboxes;
  readonly requests: Requests;
  readonly connections: Connections;
  readonly policies: Policies;
  readonly webhooks: Webhooks;
  readonly references: References;
  readonly backtests: Backtests;
  readonly consoleLinks: ConsoleLinks;
  /**
   * Get the history of your traffic, summed over all nodes: requests, errors, latency, bytes and connections, per
   * minute for 48 hours, per hour for 35 days and per day for a year. `GET /metrics_series`
   */
  metricsSeries(options?: MetricsSeriesOptions): Promise<MetricsSeries>;
  /**
   * List configuration that an edge of any server could not apply, such as a route with an invalid module. Requests to
   * it get 500 until you change it. Includes domains for which the server could not get a certificate. `GET /problems`
   */
  problems(options?: ReadOptions): Promise<ProblemList>;
  /**
   * Return the values to register at an identity provider: for OpenID Connect with its `issuer`, else for OAuth. Values
   * for SAML providers are in each route's `saml`. `GET /login_addresses`
   */
  loginAddresses(options?: LoginAddressesOptions): Promise<LoginAddresses>;
  /** Return the changes that applying a document would make, field by field, without making them. `POST /plan` */
  plan(body: Document, options?: CallOptions): Promise<Plan>;
  /**
   * Change the account's objects to match a document. All changes apply together as one revision, or none. `POST
   * /apply`
   */
  apply(body: Document, options?: ApplyOptions): Promise<Plan>;
  /**
   * Write the account's objects to a document; as YAML for `Accept: application/yaml`. Applying this document changes
   * nothing. Placeholders replace secrets and values that contain one. With `secrets`, the document includes the
   * secrets that the key may read. `GET /export`
   */
  export(options?: ExportOptions): Promise<Document>;
  /** Whether the process is alive. `GET /healthz` */
  getHealth(options?: ReadOptions): Promise<string>;
  /**
   * Whether this server accepts traffic: 200 if an edge is connected, has a configuration and is not draining, else 503
   * with the reason. Traffic does not need writes: a second line reports a database that rejects them. `?of=writes`
   * checks writes instead, and `?of=all` checks both. `GET /readyz`
   */
  getReadiness(options?: GetReadinessOptions): Promise<string>;
  /**
   * Metrics of both planes in Prometheus' text format, or in OpenMetrics with trace ids for clients that accept it;
   * only for this machine and the networks of `--metrics-from`. `GET /metrics`
   */
  getMetrics(options?: ReadOptions): Promise<string>;
  /** This description. `GET /openapi.json` */
  getOpenApi(options?: ReadOptions): Promise<Readonly<Record<string, unknown>>>;
  /** The reference of this API, for people. `GET /docs` */
  getReference(options?: ReadOptions): Promise<string>;
}

/** `/accounts` */
export interface Accounts {
  /** Create an account. With `dry_run`, return the effect without making changes. `POST /accounts` */
  create(body: AccountCreate, options?: CreateOptions): Promise<Account>;
  /** List accounts, newest first. `GET /accounts` */
  list(options?: ListOptions): Listing<Account>;
  /** Get an account. `GET /accounts/{id}` */
  get(id: string, options?: GetOptions): Promise<Account>;
  /**
   * Change the given attributes of an account. With `dry_run`, return the effect without making changes. `PATCH
   * /accounts/{id}`
   */
  update(id: string, body: AccountUpdate, options?: CreateOptions): Promise<Account>;
}

/** `/bot_users` */
export interface BotUsers {
  /** Create a bot user. With `dry_run`, return the effect without making changes. `POST /bot_users` */
  create(body: BotUserCreate, options?: CreateOptions): Promise<BotUser>;
  /** List bot users, newest first. `GET /bot_users` */
  list(options?: ListOptions): Listing<BotUser>;
  /** Get a bot user. `GET /bot_users/{id}` */
  get(id: string, options?: GetOptions): Promise<BotUser>;
  /**
   * Change the given attributes of a bot user. With `dry_run`, return the effect without making changes. `PATCH
   * /bot_users/{id}`
   */
  update(id: string, body: BotUserUpdate, options?: CreateOptions): Promise<BotUser>;
  /** Delete a bot user. With `dry_run`, check whether this is possible. `DELETE /bot_users/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/service_users` */
export interface ServiceUsers {
  /** Create a bot user. With `dry_run`, return the effect without making changes. `POST /service_users` */
  create(body: BotUserCreate, options?: CreateOptions): Promise<BotUser>;
  /** List bot users, newest first. `GET /service_users` */
  list(options?: ListOptions): Listing<BotUser>;
  /** Get a bot user. `GET /service_users/{id}` */
  get(id: string, options?: GetOptions): Promise<BotUser>;
  /**
   * Change the given attributes of a bot user. With `dry_run`, return the effect without making changes. `PATCH
   * /service_users/{id}`
   */
  update(id: string, body: BotUserUpdate, options?: CreateOptions): Promise<BotUser>;
  /** Delete a bot user. With `dry_run`, check whether this is possible. `DELETE /service_users/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/api_keys` */
export interface ApiKeys {
  /** Create an API key. With `dry_run`, return the effect without making changes. `POST /api_keys` */
  create(body: APIKeyCreate, options?: CreateOptions): Promise<APIKey>;
  /** List API keys, newest first. `GET /api_keys` */
  list(options?: ListOptions): Listing<APIKey>;
  /** Get an API key. `GET /api_keys/{id}` */
  get(id: string, options?: GetOptions): Promise<APIKey>;
  /**
   * Change the given attributes of an API key. With `dry_run`, return the effect without making changes. `PATCH
   * /api_keys/{id}`
   */
  update(id: string, body: APIKeyUpdate, options?: CreateOptions): Promise<APIKey>;
  /** Delete an API key. With `dry_run`, check whether this is possible. `DELETE /api_keys/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
  /**
   * Replace an API key: create one with the same rights, and let both work for a day. Then the old one expires. `POST
   * /api_keys/{id}/rotate`
   */
  rotate(id: string, options?: CallOptions): Promise<APIKey>;
  /** Check whether an API key's scopes would allow an operation. `POST /api_keys/{id}/test` */
  test(
    id: string,
    body?: {
      /** Id of an operation, such as `createIPPolicy`. (at most 255 bytes) */
      readonly operation: string;
      /** Metadata of the affected object. (at most 4096 bytes) */
      readonly metadata?: string | null | undefined;
    },
    options?: CallOptions,
  ): Promise<Verdict>;
}

/** `/people` */
export interface People {
  /** Get a person. `GET /people/{id}` */
  get(id: string, options?: GetOptions): Promise<Person>;
  /**
   * Change the given attributes of a person. With `dry_run`, return the effect without making changes. `PATCH
   * /people/{id}`
   */
  update(id: string, body: PersonUpdate, options?: CreateOptions): Promise<Person>;
  /** Delete a person. With `dry_run`, check whether this is possible. `DELETE /people/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
  /** List persons, newest first. `GET /people` */
  list(options?: ListOptions): Listing<Person>;
}

/** `/passkeys` */
export interface Passkeys {
  /** Get a passkey. `GET /passkeys/{id}` */
  get(id: string, options?: GetOptions): Promise<Passkey>;
  /** Delete a passkey. With `dry_run`, check whether this is possible. `DELETE /passkeys/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
  /** List passkeys, newest first. `GET /passkeys` */
  list(options?: PasskeysListOptions): Listing<Passkey>;
}

/** `/person_invitations` */
export interface PersonInvitations {
  /**
   * Create a person invitation. With `dry_run`, return the effect without making changes. `POST /person_invitations`
   */
  create(body: PersonInvitationCreate, options?: CreateOptions): Promise<PersonInvitation>;
  /** List person invitations, newest first. `GET /person_invitations` */
  list(options?: ListOptions): Listing<PersonInvitation>;
  /** Get a person invitation. `GET /person_invitations/{id}` */
  get(id: string, options?: GetOptions): Promise<PersonInvitation>;
  /**
   * Change the given attributes of a person invitation. With `dry_run`, return the effect without making changes.
   * `PATCH /person_invitations/{id}`
   */
  update(id: string, body: PersonInvitationUpdate, options?: CreateOptions): Promise<PersonInvitation>;
  /** Delete a person invitation. With `dry_run`, check whether this is possible. `DELETE /person_invitations/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/console_sessions` */
export interface ConsoleSessions {
  /** Get a console session. `GET /console_sessions/{id}` */
  get(id: string, options?: GetOptions): Promise<ConsoleSession>;
  /** Delete a console session. With `dry_run`, check whether this is possible. `DELETE /console_sessions/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
  /** List console sessions, newest first. `GET /console_sessions` */
  list(options?: ListOptions): Listing<ConsoleSession>;
}

/** `/credentials` */
export interface Credentials {
  /** Create a credential. With `dry_run`, return the effect without making changes. `POST /credentials` */
  create(body: CredentialCreate, options?: CreateOptions): Promise<Credential>;
  /** List credentials, newest first. `GET /credentials` */
  list(options?: ListOptions): Listing<Credential>;
  /** Get a credential. `GET /credentials/{id}` */
  get(id: string, options?: GetOptions): Promise<Credential>;
  /**
   * Change the given attributes of a credential. With `dry_run`, return the effect without making changes. `PATCH
   * /credentials/{id}`
   */
  update(id: string, body: CredentialUpdate, options?: CreateOptions): Promise<Credential>;
  /** Delete a credential. With `dry_run`, check whether this is possible. `DELETE /credentials/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
  /**
   * Replace an agent token: create one with the same rights, and let both work for a day. Then the old one expires.
   * `POST /credentials/{id}/rotate`
   */
  rotate(id: string, options?: CallOptions): Promise<Credential>;
  /** Check whether an agent token would allow a name or a label. `POST /credentials/{id}/test` */
  test(
    id: string,
    body?: {
      /**
       * Name that an agent would publish: a host, with or without port, or a label `key=value`. (at most 255 bytes;
       * host port or label)
       */
      readonly bind: string;
    },
    options?: CallOptions,
  ): Promise<Verdict>;
}

/** `/ssh_credentials` */
export interface SshCredentials {
  /** Create a ssh credential. With `dry_run`, return the effect without making changes. `POST /ssh_credentials` */
  create(body: SSHCredentialCreate, options?: CreateOptions): Promise<SSHCredential>;
  /** List ssh credentials, newest first. `GET /ssh_credentials` */
  list(options?: ListOptions): Listing<SSHCredential>;
  /** Get a ssh credential. `GET /ssh_credentials/{id}` */
  get(id: string, options?: GetOptions): Promise<SSHCredential>;
  /**
   * Change the given attributes of a ssh credential. With `dry_run`, return the effect without making changes. `PATCH
   * /ssh_credentials/{id}`
   */
  update(id: string, body: SSHCredentialUpdate, options?: CreateOptions): Promise<SSHCredential>;
  /** Delete a ssh credential. With `dry_run`, check whether this is possible. `DELETE /ssh_credentials/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/ssh_certificate_authorities` */
export interface SshCertificateAuthorities {
  /**
   * Create a ssh certificate authority. With `dry_run`, return the effect without making changes. `POST
   * /ssh_certificate_authorities`
   */
  create(body: SSHCertificateAuthorityCreate, options?: CreateOptions): Promise<SSHCertificateAuthority>;
  /** List ssh certificate authorities, newest first. `GET /ssh_certificate_authorities` */
  list(options?: ListOptions): Listing<SSHCertificateAuthority>;
  /** Get a ssh certificate authority. `GET /ssh_certificate_authorities/{id}` */
  get(id: string, options?: GetOptions): Promise<SSHCertificateAuthority>;
  /**
   * Change the given attributes of a ssh certificate authority. With `dry_run`, return the effect without making
   * changes. `PATCH /ssh_certificate_authorities/{id}`
   */
  update(id: string, body: SSHCertificateAuthorityUpdate, options?: CreateOptions): Promise<SSHCertificateAuthority>;
  /**
   * Delete a ssh certificate authority. With `dry_run`, check whether this is possible. `DELETE
   * /ssh_certificate_authorities/{id}`
   */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/agent_invitations` */
export interface AgentInvitations {
  /** Create an agent invitation. With `dry_run`, return the effect without making changes. `POST /agent_invitations` */
  create(body: AgentInvitationCreate, options?: CreateOptions): Promise<AgentInvitation>;
  /** List agent invitations, newest first. `GET /agent_invitations` */
  list(options?: ListOptions): Listing<AgentInvitation>;
  /** Get an agent invitation. `GET /agent_invitations/{id}` */
  get(id: string, options?: GetOptions): Promise<AgentInvitation>;
  /**
   * Change the given attributes of an agent invitation. With `dry_run`, return the effect without making changes.
   * `PATCH /agent_invitations/{id}`
   */
  update(id: string, body: AgentInvitationUpdate, options?: CreateOptions): Promise<AgentInvitation>;
  /** Delete an agent invitation. With `dry_run`, check whether this is possible. `DELETE /agent_invitations/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/ip_policies` */
export interface IpPolicies {
  /** Create an IP policy. With `dry_run`, return the effect without making changes. `POST /ip_policies` */
  create(body: IPPolicyCreate, options?: CreateOptions): Promise<IPPolicy>;
  /** List IP policies, newest first. `GET /ip_policies` */
  list(options?: ListOptions): Listing<IPPolicy>;
  /** Get an IP policy. `GET /ip_policies/{id}` */
  get(id: string, options?: GetOptions): Promise<IPPolicy>;
  /**
   * Change the given attributes of an IP policy. With `dry_run`, return the effect without making changes. `PATCH
   * /ip_policies/{id}`
   */
  update(id: string, body: IPPolicyUpdate, options?: CreateOptions): Promise<IPPolicy>;
  /** Delete an IP policy. With `dry_run`, check whether this is possible. `DELETE /ip_policies/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
  /** Check whether an IP policy would allow an address. `POST /ip_policies/{id}/test` */
  test(
    id: string,
    body?: {
      /** Address of a client. (at most 255 bytes; ip) */
      readonly source_ip: string;
    },
    options?: CallOptions,
  ): Promise<Verdict>;
}

/** `/ip_policy_rules` */
export interface IpPolicyRules {
  /** Create an IP policy rule. With `dry_run`, return the effect without making changes. `POST /ip_policy_rules` */
  create(body: IPPolicyRuleCreate, options?: CreateOptions): Promise<IPPolicyRule>;
  /** List IP policy rules, newest first. `GET /ip_policy_rules` */
  list(options?: ListOptions): Listing<IPPolicyRule>;
  /** Get an IP policy rule. `GET /ip_policy_rules/{id}` */
  get(id: string, options?: GetOptions): Promise<IPPolicyRule>;
  /**
   * Change the given attributes of an IP policy rule. With `dry_run`, return the effect without making changes. `PATCH
   * /ip_policy_rules/{id}`
   */
  update(id: string, body: IPPolicyRuleUpdate, options?: CreateOptions): Promise<IPPolicyRule>;
  /** Delete an IP policy rule. With `dry_run`, check whether this is possible. `DELETE /ip_policy_rules/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/ip_restrictions` */
export interface IpRestrictions {
  /** Create an IP restriction. With `dry_run`, return the effect without making changes. `POST /ip_restrictions` */
  create(body: IPRestrictionCreate, options?: CreateOptions): Promise<IPRestriction>;
  /** List IP restrictions, newest first. `GET /ip_restrictions` */
  list(options?: ListOptions): Listing<IPRestriction>;
  /** Get an IP restriction. `GET /ip_restrictions/{id}` */
  get(id: string, options?: GetOptions): Promise<IPRestriction>;
  /**
   * Change the given attributes of an IP restriction. With `dry_run`, return the effect without making changes. `PATCH
   * /ip_restrictions/{id}`
   */
  update(id: string, body: IPRestrictionUpdate, options?: CreateOptions): Promise<IPRestriction>;
  /** Delete an IP restriction. With `dry_run`, check whether this is possible. `DELETE /ip_restrictions/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/certificate_authorities` */
export interface CertificateAuthorities {
  /**
   * Create a certificate authority. With `dry_run`, return the effect without making changes. `POST
   * /certificate_authorities`
   */
  create(body: CertificateAuthorityCreate, options?: CreateOptions): Promise<CertificateAuthority>;
  /** List certificate authorities, newest first. `GET /certificate_authorities` */
  list(options?: ListOptions): Listing<CertificateAuthority>;
  /** Get a certificate authority. `GET /certificate_authorities/{id}` */
  get(id: string, options?: GetOptions): Promise<CertificateAuthority>;
  /**
   * Change the given attributes of a certificate authority. With `dry_run`, return the effect without making changes.
   * `PATCH /certificate_authorities/{id}`
   */
  update(id: string, body: CertificateAuthorityUpdate, options?: CreateOptions): Promise<CertificateAuthority>;
  /**
   * Delete a certificate authority. With `dry_run`, check whether this is possible. `DELETE
   * /certificate_authorities/{id}`
   */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/tls_certificates` */
export interface TlsCertificates {
  /** Create a TLS certificate. With `dry_run`, return the effect without making changes. `POST /tls_certificates` */
  create(body: TLSCertificateCreate, options?: CreateOptions): Promise<TLSCertificate>;
  /** List TLS certificates, newest first. `GET /tls_certificates` */
  list(options?: ListOptions): Listing<TLSCertificate>;
  /** Get a TLS certificate. `GET /tls_certificates/{id}` */
  get(id: string, options?: GetOptions): Promise<TLSCertificate>;
  /**
   * Change the given attributes of a TLS certificate. With `dry_run`, return the effect without making changes. `PATCH
   * /tls_certificates/{id}`
   */
  update(id: string, body: TLSCertificateUpdate, options?: CreateOptions): Promise<TLSCertificate>;
  /** Delete a TLS certificate. With `dry_run`, check whether this is possible. `DELETE /tls_certificates/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/reserved_domains` */
export interface ReservedDomains {
  readonly certificate: ReservedDomainsCertificate;
  readonly certificateManagementPolicy: ReservedDomainsCertificateManagementPolicy;
  /** Create a reserved domain. With `dry_run`, return the effect without making changes. `POST /reserved_domains` */
  create(body: ReservedDomainCreate, options?: CreateOptions): Promise<ReservedDomain>;
  /** List reserved domains, newest first. `GET /reserved_domains` */
  list(options?: ListOptions): Listing<ReservedDomain>;
  /** Get a reserved domain. `GET /reserved_domains/{id}` */
  get(id: string, options?: GetOptions): Promise<ReservedDomain>;
  /**
   * Change the given attributes of a reserved domain. With `dry_run`, return the effect without making changes. `PATCH
   * /reserved_domains/{id}`
   */
  update(id: string, body: ReservedDomainUpdate, options?: CreateOptions): Promise<ReservedDomain>;
  /** Delete a reserved domain. With `dry_run`, check whether this is possible. `DELETE /reserved_domains/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/reserved_domains/{id}/certificate` */
export interface ReservedDomainsCertificate {
  /**
   * Unset certificate_id of a reserved domain. With `dry_run`, return the effect without making changes. `DELETE
   * /reserved_domains/{id}/certificate`
   */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/reserved_domains/{id}/certificate_management_policy` */
export interface ReservedDomainsCertificateManagementPolicy {
  /**
   * Unset certificate_management_policy of a reserved domain. With `dry_run`, return the effect without making changes.
   * `DELETE /reserved_domains/{id}/certificate_management_policy`
   */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/reserved_addrs` */
export interface ReservedAddrs {
  /** Create a reserved addr. With `dry_run`, return the effect without making changes. `POST /reserved_addrs` */
  create(body: ReservedAddrCreate, options?: CreateOptions): Promise<ReservedAddr>;
  /** List reserved addrs, newest first. `GET /reserved_addrs` */
  list(options?: ListOptions): Listing<ReservedAddr>;
  /** Get a reserved addr. `GET /reserved_addrs/{id}` */
  get(id: string, options?: GetOptions): Promise<ReservedAddr>;
  /**
   * Change the given attributes of a reserved addr. With `dry_run`, return the effect without making changes. `PATCH
   * /reserved_addrs/{id}`
   */
  update(id: string, body: ReservedAddrUpdate, options?: CreateOptions): Promise<ReservedAddr>;
  /** Delete a reserved addr. With `dry_run`, check whether this is possible. `DELETE /reserved_addrs/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** Below `/backends`. */
export interface Backends {
  readonly tunnelGroup: BackendsTunnelGroup;
  readonly failover: BackendsFailover;
  readonly weighted: BackendsWeighted;
  readonly httpResponse: BackendsHttpResponse;
  readonly static: BackendsStatic;
}

/** `/backends/tunnel_group` */
export interface BackendsTunnelGroup {
  /**
   * Create a tunnel group backend. With `dry_run`, return the effect without making changes. `POST
   * /backends/tunnel_group`
   */
  create(body: TunnelGroupBackendCreate, options?: CreateOptions): Promise<TunnelGroupBackend>;
  /** List tunnel group backends, newest first. `GET /backends/tunnel_group` */
  list(options?: ListOptions): Listing<TunnelGroupBackend>;
  /** Get a tunnel group backend. `GET /backends/tunnel_group/{id}` */
  get(id: string, options?: GetOptions): Promise<TunnelGroupBackend>;
  /**
   * Change the given attributes of a tunnel group backend. With `dry_run`, return the effect without making changes.
   * `PATCH /backends/tunnel_group/{id}`
   */
  update(id: string, body: TunnelGroupBackendUpdate, options?: CreateOptions): Promise<TunnelGroupBackend>;
  /**
   * Delete a tunnel group backend. With `dry_run`, check whether this is possible. `DELETE /backends/tunnel_group/{id}`
   */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/backends/failover` */
export interface BackendsFailover {
  /** Create a failover backend. With `dry_run`, return the effect without making changes. `POST /backends/failover` */
  create(body: FailoverBackendCreate, options?: CreateOptions): Promise<FailoverBackend>;
  /** List failover backends, newest first. `GET /backends/failover` */
  list(options?: ListOptions): Listing<FailoverBackend>;
  /** Get a failover backend. `GET /backends/failover/{id}` */
  get(id: string, options?: GetOptions): Promise<FailoverBackend>;
  /**
   * Change the given attributes of a failover backend. With `dry_run`, return the effect without making changes. `PATCH
   * /backends/failover/{id}`
   */
  update(id: string, body: FailoverBackendUpdate, options?: CreateOptions): Promise<FailoverBackend>;
  /** Delete a failover backend. With `dry_run`, check whether this is possible. `DELETE /backends/failover/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/backends/weighted` */
export interface BackendsWeighted {
  /** Create a weighted backend. With `dry_run`, return the effect without making changes. `POST /backends/weighted` */
  create(body: WeightedBackendCreate, options?: CreateOptions): Promise<WeightedBackend>;
  /** List weighted backends, newest first. `GET /backends/weighted` */
  list(options?: ListOptions): Listing<WeightedBackend>;
  /** Get a weighted backend. `GET /backends/weighted/{id}` */
  get(id: string, options?: GetOptions): Promise<WeightedBackend>;
  /**
   * Change the given attributes of a weighted backend. With `dry_run`, return the effect without making changes. `PATCH
   * /backends/weighted/{id}`
   */
  update(id: string, body: WeightedBackendUpdate, options?: CreateOptions): Promise<WeightedBackend>;
  /** Delete a weighted backend. With `dry_run`, check whether this is possible. `DELETE /backends/weighted/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/backends/http_response` */
export interface BackendsHttpResponse {
  /**
   * Create an HTTP response backend. With `dry_run`, return the effect without making changes. `POST
   * /backends/http_response`
   */
  create(body: HTTPResponseBackendCreate, options?: CreateOptions): Promise<HTTPResponseBackend>;
  /** List HTTP response backends, newest first. `GET /backends/http_response` */
  list(options?: ListOptions): Listing<HTTPResponseBackend>;
  /** Get an HTTP response backend. `GET /backends/http_response/{id}` */
  get(id: string, options?: GetOptions): Promise<HTTPResponseBackend>;
  /**
   * Change the given attributes of an HTTP response backend. With `dry_run`, return the effect without making changes.
   * `PATCH /backends/http_response/{id}`
   */
  update(id: string, body: HTTPResponseBackendUpdate, options?: CreateOptions): Promise<HTTPResponseBackend>;
  /**
   * Delete an HTTP response backend. With `dry_run`, check whether this is possible. `DELETE
   * /backends/http_response/{id}`
   */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/backends/static` */
export interface BackendsStatic {
  /** Create a static backend. With `dry_run`, return the effect without making changes. `POST /backends/static` */
  create(body: StaticBackendCreate, options?: CreateOptions): Promise<StaticBackend>;
  /** List static backends, newest first. `GET /backends/static` */
  list(options?: ListOptions): Listing<StaticBackend>;
  /** Get a static backend. `GET /backends/static/{id}` */
  get(id: string, options?: GetOptions): Promise<StaticBackend>;
  /**
   * Change the given attributes of a static backend. With `dry_run`, return the effect without making changes. `PATCH
   * /backends/static/{id}`
   */
  update(id: string, body: StaticBackendUpdate, options?: CreateOptions): Promise<StaticBackend>;
  /** Delete a static backend. With `dry_run`, check whether this is possible. `DELETE /backends/static/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** Below `/edges`. */
export interface Edges {
  readonly https: EdgesHttps;
  readonly tls: EdgesTls;
  readonly tcp: EdgesTcp;
}

/** `/edges/https` */
export interface EdgesHttps {
  readonly tlsTermination: EdgesHttpsTlsTermination;
  readonly mutualTls: EdgesHttpsMutualTls;
  readonly routes: EdgesHttpsRoutes;
  /** Create an HTTPS edge. With `dry_run`, return the effect without making changes. `POST /edges/https` */
  create(body: HTTPSEdgeCreate, options?: CreateOptions): Promise<HTTPSEdge>;
  /** List HTTPS edges, newest first. `GET /edges/https` */
  list(options?: ListOptions): Listing<HTTPSEdge>;
  /** Get an HTTPS edge. `GET /edges/https/{id}` */
  get(id: string, options?: GetOptions): Promise<HTTPSEdge>;
  /**
   * Change the given attributes of an HTTPS edge. With `dry_run`, return the effect without making changes. `PATCH
   * /edges/https/{id}`
   */
  update(id: string, body: HTTPSEdgeUpdate, options?: CreateOptions): Promise<HTTPSEdge>;
  /** Delete an HTTPS edge. With `dry_run`, check whether this is possible. `DELETE /edges/https/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
  /** Return what the edge would do with a request, without sending it. `POST /edges/https/{id}/explain` */
  explain(
    id: string,
    body?: {
      /** Method. (at most 255 bytes; method) */
      readonly method?: string | null | undefined;
      /** URL, instead of `host` and `path`. (at most 16384 bytes; url) */
      readonly url?: string | null | undefined;
      /** Host; default: the first host of the edge. (at most 255 bytes; host) */
      readonly host?: string | null | undefined;
      /** Path and query; default: `/`. (at most 16384 bytes; request target) */
      readonly path?: string | null | undefined;
      /** Header fields of the client. Host is optional. (at most 128) */
      readonly headers?: Readonly<Record<string, string>> | null | undefined;
      /** Address of the client; default: the caller's address. (at most 255 bytes; ip) */
      readonly source_ip?: string | null | undefined;
      /** Country of the client (ISO 3166-1 alpha-2); default: that of its address. (at most 255 bytes; country code) */
      readonly country?: string | null | undefined;
      /** Body. (at most 524288 bytes) */
      readonly body?: string | null | undefined;
      /** A visitor to treat as logged in: with an existing session, or else as after a new login. */
      readonly as?: {
        /** E-mail address. (at most 320 bytes; email) */
        readonly email: string;
        /** Whether the provider has verified the address. */
        readonly email_verified?: boolean | null | undefined;
        /** Id at the provider. (at most 1024 bytes) */
        readonly provider_user_id?: string | null | undefined;
        /** Name. (at most 1024 bytes) */
        readonly name?: string | null | undefined;
        /** Teams, organizations or groups. (at most 100) */
        readonly groups?: readonly string[] | null | undefined;
      } | null | undefined;
      /** Simulated response of the upstream. */
      readonly response?: {
        /** Status. (200 to 599) */
        readonly status_code?: number | null | undefined;
        /** Header fields. (at most 128) */
        readonly headers?: Readonly<Record<string, string>> | null | undefined;
        /** Body, for rules of traffic policies that act on it. (at most 524288 bytes) */
        readonly body?: string | null | undefined;
      } | null | undefined;
      /** A traffic policy to use instead of the policy of a route: only for keys that may write and read everything. */
      readonly draft?: {
        /** Id of the route. (at most 64 bytes) */
        readonly route_id: string;
        /** The policy, as JSON or YAML; empty: none. (at most 65536 bytes; traffic policy) */
        readonly traffic_policy: string;
      } | null | undefined;
    },
    options?: CallOptions,
  ): Promise<Explanation>;
}

/** `/edges/https/{id}/tls_termination` */
export interface EdgesHttpsTlsTermination {
  /**
   * Replace the whole tls_termination module. With `dry_run`, return the effect without making changes. Sets where TLS
   * ends, and the allowed TLS versions. `PUT /edges/https/{id}/tls_termination`
   */
  replace(id: string, body: EndpointTLSTerminationReplace, options?: CreateOptions): Promise<EndpointTLSTermination>;
  /** Get the tls_termination module. `GET /edges/https/{id}/tls_termination` */
  get(id: string, options?: GetOptions): Promise<EndpointTLSTermination>;
  /**
   * Remove the tls_termination module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/https/{id}/tls_termination`
   */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/https/{id}/mutual_tls` */
export interface EdgesHttpsMutualTls {
  /**
   * Replace the whole mutual_tls module. With `dry_run`, return the effect without making changes. Requests a client
   * certificate in the TLS handshake, and rejects clients without a certificate of the given CAs. The upstream receives
   * the certificate's subject in `ngrok-mtls-*` header fields. `PUT /edges/https/{id}/mutual_tls`
   */
  replace(id: string, body: EndpointMutualTLSReplace, options?: CreateOptions): Promise<EndpointMutualTLS>;
  /** Get the mutual_tls module. `GET /edges/https/{id}/mutual_tls` */
  get(id: string, options?: GetOptions): Promise<EndpointMutualTLS>;
  /**
   * Remove the mutual_tls module. With `dry_run`, check whether this is possible. `DELETE /edges/https/{id}/mutual_tls`
   */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/https/{edge_id}/routes` */
export interface EdgesHttpsRoutes {
  readonly ipRestriction: EdgesHttpsRoutesIpRestriction;
  readonly countryRestriction: EdgesHttpsRoutesCountryRestriction;
  readonly userAgentFilter: EdgesHttpsRoutesUserAgentFilter;
  readonly webhookVerification: EdgesHttpsRoutesWebhookVerification;
  readonly oauth: EdgesHttpsRoutesOauth;
  readonly oidc: EdgesHttpsRoutesOidc;
  readonly saml: EdgesHttpsRoutesSaml;
  readonly trafficPolicy: EdgesHttpsRoutesTrafficPolicy;
  readonly inbox: EdgesHttpsRoutesInbox;
  readonly circuitBreaker: EdgesHttpsRoutesCircuitBreaker;
  readonly websocketTcpConverter: EdgesHttpsRoutesWebsocketTcpConverter;
  readonly requestHeaders: EdgesHttpsRoutesRequestHeaders;
  readonly forwarding: EdgesHttpsRoutesForwarding;
  readonly mcp: EdgesHttpsRoutesMcp;
  readonly backend: EdgesHttpsRoutesBackend;
  readonly compression: EdgesHttpsRoutesCompression;
  readonly responseHeaders: EdgesHttpsRoutesResponseHeaders;
  /**
   * Create an HTTPS edge route. With `dry_run`, return the effect without making changes. `POST
   * /edges/https/{edge_id}/routes`
   */
  create(edgeId: string, body: HTTPSEdgeRouteCreate, options?: CreateOptions): Promise<HTTPSEdgeRoute>;
  /** Get an HTTPS edge route. `GET /edges/https/{edge_id}/routes/{id}` */
  get(edgeId: string, id: string, options?: GetOptions): Promise<HTTPSEdgeRoute>;
  /**
   * Change the given attributes of an HTTPS edge route. With `dry_run`, return the effect without making changes.
   * `PATCH /edges/https/{edge_id}/routes/{id}`
   */
  update(edgeId: string, id: string, body: HTTPSEdgeRouteUpdate, options?: CreateOptions): Promise<HTTPSEdgeRoute>;
  /**
   * Delete an HTTPS edge route. With `dry_run`, check whether this is possible. `DELETE
   * /edges/https/{edge_id}/routes/{id}`
   */
  delete(edgeId: string, id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/https/{edge_id}/routes/{id}/ip_restriction` */
export interface EdgesHttpsRoutesIpRestriction {
  /**
   * Replace the whole ip_restriction module. With `dry_run`, return the effect without making changes. Allows a source
   * address only if a rule of the IP policies allows it and no rule denies it. `PUT
   * /edges/https/{edge_id}/routes/{id}/ip_restriction`
   */
  replace(
    edgeId: string,
    id: string,
    body: EndpointIPPolicyReplace,
    options?: CreateOptions,
  ): Promise<EndpointIPPolicy>;
  /** Get the ip_restriction module. `GET /edges/https/{edge_id}/routes/{id}/ip_restriction` */
  get(edgeId: string, id: string, options?: GetOptions): Promise<EndpointIPPolicy>;
  /**
   * Remove the ip_restriction module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/https/{edge_id}/routes/{id}/ip_restriction`
   */
  delete(edgeId: string, id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/https/{edge_id}/routes/{id}/country_restriction` */
export interface EdgesHttpsRoutesCountryRestriction {
  /**
   * Replace the whole country_restriction module. With `dry_run`, return the effect without making changes. Allows
   * visitors by the country of their address. An address in a country of `deny` is denied. If `allow` has countries,
   * all others are denied, and so are addresses whose country is unknown, such as private ones. Without `allow`,
   * addresses whose country is unknown pass. `PUT /edges/https/{edge_id}/routes/{id}/country_restriction`
   */
  replace(
    edgeId: string,
    id: string,
    body: EndpointCountryRestrictionReplace,
    options?: CreateOptions,
  ): Promise<EndpointCountryRestriction>;
  /** Get the country_restriction module. `GET /edges/https/{edge_id}/routes/{id}/country_restriction` */
  get(edgeId: string, id: string, options?: GetOptions): Promise<EndpointCountryRestriction>;
  /**
   * Remove the country_restriction module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/https/{edge_id}/routes/{id}/country_restriction`
   */
  delete(edgeId: string, id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/https/{edge_id}/routes/{id}/user_agent_filter` */
export interface EdgesHttpsRoutesUserAgentFilter {
  /**
   * Replace the whole user_agent_filter module. With `dry_run`, return the effect without making changes. Denies
   * requests by their User-Agent: fields that match an expression of `deny` and none of `allow`. A request without
   * User-Agent passes only if an expression of `allow` matches the empty string. A request with several is always
   * denied. Expressions are RE2 and match anywhere. `PUT /edges/https/{edge_id}/routes/{id}/user_agent_filter`
   */
  replace(
    edgeId: string,
    id: string,
    body: EndpointUserAgentFilterReplace,
    options?: CreateOptions,
  ): Promise<EndpointUserAgentFilter>;
  /** Get the user_agent_filter module. `GET /edges/https/{edge_id}/routes/{id}/user_agent_filter` */
  get(edgeId: string, id: string, options?: GetOptions): Promise<EndpointUserAgentFilter>;
  /**
   * Remove the user_agent_filter module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/https/{edge_id}/routes/{id}/user_agent_filter`
   */
  delete(edgeId: string, id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/https/{edge_id}/routes/{id}/webhook_verification` */
export interface EdgesHttpsRoutesWebhookVerification {
  /**
   * Replace the whole webhook_verification module. With `dry_run`, return the effect without making changes. Accepts
   * only webhooks with a valid signature. The edge holds the body until the signature is verified, and then forwards it
   * unchanged. The edge answers the provider's test requests. `PUT
   * /edges/https/{edge_id}/routes/{id}/webhook_verification`
   */
  replace(
    edgeId: string,
    id: string,
    body: EndpointWebhookValidationReplace,
    options?: CreateOptions,
  ): Promise<EndpointWebhookValidation>;
  /** Get the webhook_verification module. `GET /edges/https/{edge_id}/routes/{id}/webhook_verification` */
  get(edgeId: string, id: string, options?: GetOptions): Promise<EndpointWebhookValidation>;
  /**
   * Remove the webhook_verification module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/https/{edge_id}/routes/{id}/webhook_verification`
   */
  delete(edgeId: string, id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/https/{edge_id}/routes/{id}/oauth` */
export interface EdgesHttpsRoutesOauth {
  /**
   * Replace the whole oauth module. With `dry_run`, return the effect without making changes. Requires a login with a
   * social identity provider. Only visitors on the lists have access. `PUT /edges/https/{edge_id}/routes/{id}/oauth`
   */
  replace(edgeId: string, id: string, body: EndpointOAuthReplace, options?: CreateOptions): Promise<EndpointOAuth>;
  /** Get the oauth module. `GET /edges/https/{edge_id}/routes/{id}/oauth` */
  get(edgeId: string, id: string, options?: GetOptions): Promise<EndpointOAuth>;
  /**
   * Remove the oauth module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/https/{edge_id}/routes/{id}/oauth`
   */
  delete(edgeId: string, id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/https/{edge_id}/routes/{id}/oidc` */
export interface EdgesHttpsRoutesOidc {
  /**
   * Replace the whole oidc module. With `dry_run`, return the effect without making changes. Requires a login with an
   * OpenID Connect provider. `PUT /edges/https/{edge_id}/routes/{id}/oidc`
   */
  replace(edgeId: string, id: string, body: EndpointOIDCReplace, options?: CreateOptions): Promise<EndpointOIDC>;
  /** Get the oidc module. `GET /edges/https/{edge_id}/routes/{id}/oidc` */
  get(edgeId: string, id: string, options?: GetOptions): Promise<EndpointOIDC>;
  /**
   * Remove the oidc module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/https/{edge_id}/routes/{id}/oidc`
   */
  delete(edgeId: string, id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/https/{edge_id}/routes/{id}/saml` */
export interface EdgesHttpsRoutesSaml {
  /**
   * Replace the whole saml module. With `dry_run`, return the effect without making changes. Requires a login with a
   * SAML identity provider. `PUT /edges/https/{edge_id}/routes/{id}/saml`
   */
  replace(edgeId: string, id: string, body: EndpointSAMLReplace, options?: CreateOptions): Promise<EndpointSAML>;
  /** Get the saml module. `GET /edges/https/{edge_id}/routes/{id}/saml` */
  get(edgeId: string, id: string, options?: GetOptions): Promise<EndpointSAML>;
  /**
   * Remove the saml module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/https/{edge_id}/routes/{id}/saml`
   */
  delete(edgeId: string, id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/https/{edge_id}/routes/{id}/traffic_policy` */
export interface EdgesHttpsRoutesTrafficPolicy {
  /**
   * Replace the whole traffic_policy module. With `dry_run`, return the effect without making changes. Applies a
   * traffic policy: rules with expressions and actions, by phase. `PUT
   * /edges/https/{edge_id}/routes/{id}/traffic_policy`
   */
  replace(
    edgeId: string,
    id: string,
    body: EndpointTrafficPolicyReplace,
    options?: CreateOptions,
  ): Promise<EndpointTrafficPolicy>;
  /** Get the traffic_policy module. `GET /edges/https/{edge_id}/routes/{id}/traffic_policy` */
  get(edgeId: string, id: string, options?: GetOptions): Promise<EndpointTrafficPolicy>;
  /**
   * Remove the traffic_policy module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/https/{edge_id}/routes/{id}/traffic_policy`
   */
  delete(edgeId: string, id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/https/{edge_id}/routes/{id}/inbox` */
export interface EdgesHttpsRoutesInbox {
  /**
   * Replace the whole inbox module. With `dry_run`, return the effect without making changes. Stores webhooks and
   * answers the provider immediately. The server delivers them to the backend, in order of arrival, and retries until
   * the service accepts them. `PUT /edges/https/{edge_id}/routes/{id}/inbox`
   */
  replace(edgeId: string, id: string, body: EndpointInboxReplace, options?: CreateOptions): Promise<EndpointInbox>;
  /** Get the inbox module. `GET /edges/https/{edge_id}/routes/{id}/inbox` */
  get(edgeId: string, id: string, options?: GetOptions): Promise<EndpointInbox>;
  /**
   * Remove the inbox module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/https/{edge_id}/routes/{id}/inbox`
   */
  delete(edgeId: string, id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/https/{edge_id}/routes/{id}/circuit_breaker` */
export interface EdgesHttpsRoutesCircuitBreaker {
  /**
   * Replace the whole circuit_breaker module. With `dry_run`, return the effect without making changes. Stops requests
   * to a failing upstream, and retries after a pause. A failure is a status of 500 or more, or no response. `PUT
   * /edges/https/{edge_id}/routes/{id}/circuit_breaker`
   */
  replace(
    edgeId: string,
    id: string,
    body: EndpointCircuitBreakerReplace,
    options?: CreateOptions,
  ): Promise<EndpointCircuitBreaker>;
  /** Get the circuit_breaker module. `GET /edges/https/{edge_id}/routes/{id}/circuit_breaker` */
  get(edgeId: string, id: string, options?: GetOptions): Promise<EndpointCircuitBreaker>;
  /**
   * Remove the circuit_breaker module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/https/{edge_id}/routes/{id}/circuit_breaker`
   */
  delete(edgeId: string, id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/https/{edge_id}/routes/{id}/websocket_tcp_converter` */
export interface EdgesHttpsRoutesWebsocketTcpConverter {
  /**
   * Replace the whole websocket_tcp_converter module. With `dry_run`, return the effect without making changes.
   * Converts WebSockets to TCP: binary messages become bytes on a connection to the backend, and bytes from the backend
   * become binary messages. Text messages and requests without a WebSocket upgrade are rejected. `PUT
   * /edges/https/{edge_id}/routes/{id}/websocket_tcp_converter`
   */
  replace(
    edgeId: string,
    id: string,
    body: EndpointWebsocketTCPConverterReplace,
    options?: CreateOptions,
  ): Promise<EndpointWebsocketTCPConverter>;
  /** Get the websocket_tcp_converter module. `GET /edges/https/{edge_id}/routes/{id}/websocket_tcp_converter` */
  get(edgeId: string, id: string, options?: GetOptions): Promise<EndpointWebsocketTCPConverter>;
  /**
   * Remove the websocket_tcp_converter module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/https/{edge_id}/routes/{id}/websocket_tcp_converter`
   */
  delete(edgeId: string, id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/https/{edge_id}/routes/{id}/request_headers` */
export interface EdgesHttpsRoutesRequestHeaders {
  /**
   * Replace the whole request_headers module. With `dry_run`, return the effect without making changes. Removes, then
   * adds header fields of the request, just before the request goes upstream. `PUT
   * /edges/https/{edge_id}/routes/{id}/request_headers`
   */
  replace(
    edgeId: string,
    id: string,
    body: EndpointRequestHeadersReplace,
    options?: CreateOptions,
  ): Promise<EndpointRequestHeaders>;
  /** Get the request_headers module. `GET /edges/https/{edge_id}/routes/{id}/request_headers` */
  get(edgeId: string, id: string, options?: GetOptions): Promise<EndpointRequestHeaders>;
  /**
   * Remove the request_headers module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/https/{edge_id}/routes/{id}/request_headers`
   */
  delete(edgeId: string, id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/https/{edge_id}/routes/{id}/forwarding` */
export interface EdgesHttpsRoutesForwarding {
  /**
   * Replace the whole forwarding module. With `dry_run`, return the effect without making changes. Sets limits on how
   * requests are forwarded to the upstream. `PUT /edges/https/{edge_id}/routes/{id}/forwarding`
   */
  replace(
    edgeId: string,
    id: string,
    body: EndpointForwardingReplace,
    options?: CreateOptions,
  ): Promise<EndpointForwarding>;
  /** Get the forwarding module. `GET /edges/https/{edge_id}/routes/{id}/forwarding` */
  get(edgeId: string, id: string, options?: GetOptions): Promise<EndpointForwarding>;
  /**
   * Remove the forwarding module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/https/{edge_id}/routes/{id}/forwarding`
   */
  delete(edgeId: string, id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/https/{edge_id}/routes/{id}/mcp` */
export interface EdgesHttpsRoutesMcp {
  /**
   * Replace the whole mcp module. With `dry_run`, return the effect without making changes. Publishes an MCP server
   * (Model Context Protocol, Streamable HTTP). All requests of an MCP session reach the agent that began it; if that
   * agent is gone, they get 404, so that the client begins a new session. Event streams are neither compressed nor
   * buffered. `PUT /edges/https/{edge_id}/routes/{id}/mcp`
   */
  replace(edgeId: string, id: string, body: EndpointMCPReplace, options?: CreateOptions): Promise<EndpointMCP>;
  /** Get the mcp module. `GET /edges/https/{edge_id}/routes/{id}/mcp` */
  get(edgeId: string, id: string, options?: GetOptions): Promise<EndpointMCP>;
  /**
   * Remove the mcp module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/https/{edge_id}/routes/{id}/mcp`
   */
  delete(edgeId: string, id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/https/{edge_id}/routes/{id}/backend` */
export interface EdgesHttpsRoutesBackend {
  /**
   * Replace the whole backend module. With `dry_run`, return the effect without making changes. Sends traffic to a
   * backend. `PUT /edges/https/{edge_id}/routes/{id}/backend`
   */
  replace(edgeId: string, id: string, body: EndpointBackendReplace, options?: CreateOptions): Promise<EndpointBackend>;
  /** Get the backend module. `GET /edges/https/{edge_id}/routes/{id}/backend` */
  get(edgeId: string, id: string, options?: GetOptions): Promise<EndpointBackend>;
  /**
   * Remove the backend module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/https/{edge_id}/routes/{id}/backend`
   */
  delete(edgeId: string, id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/https/{edge_id}/routes/{id}/compression` */
export interface EdgesHttpsRoutesCompression {
  /**
   * Replace the whole compression module. With `dry_run`, return the effect without making changes. Compresses
   * responses with gzip, deflate, br or zstd, according to the client's Accept-Encoding. Unchanged are encoded or
   * partial bodies, bodies that do not shrink, and responses with `Cache-Control: no-transform`. Responses that repeat
   * input of a logged-in visitor stay unchanged too. `PUT /edges/https/{edge_id}/routes/{id}/compression`
   */
  replace(
    edgeId: string,
    id: string,
    body: EndpointCompressionReplace,
    options?: CreateOptions,
  ): Promise<EndpointCompression>;
  /** Get the compression module. `GET /edges/https/{edge_id}/routes/{id}/compression` */
  get(edgeId: string, id: string, options?: GetOptions): Promise<EndpointCompression>;
  /**
   * Remove the compression module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/https/{edge_id}/routes/{id}/compression`
   */
  delete(edgeId: string, id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/https/{edge_id}/routes/{id}/response_headers` */
export interface EdgesHttpsRoutesResponseHeaders {
  /**
   * Replace the whole response_headers module. With `dry_run`, return the effect without making changes. Removes, then
   * adds header fields of the response, just before the response goes to the client. `PUT
   * /edges/https/{edge_id}/routes/{id}/response_headers`
   */
  replace(
    edgeId: string,
    id: string,
    body: EndpointResponseHeadersReplace,
    options?: CreateOptions,
  ): Promise<EndpointResponseHeaders>;
  /** Get the response_headers module. `GET /edges/https/{edge_id}/routes/{id}/response_headers` */
  get(edgeId: string, id: string, options?: GetOptions): Promise<EndpointResponseHeaders>;
  /**
   * Remove the response_headers module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/https/{edge_id}/routes/{id}/response_headers`
   */
  delete(edgeId: string, id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/tls` */
export interface EdgesTls {
  readonly tlsTermination: EdgesTlsTlsTermination;
  readonly mutualTls: EdgesTlsMutualTls;
  readonly ipRestriction: EdgesTlsIpRestriction;
  readonly countryRestriction: EdgesTlsCountryRestriction;
  readonly trafficPolicy: EdgesTlsTrafficPolicy;
  readonly backend: EdgesTlsBackend;
  /** Create a TLS edge. With `dry_run`, return the effect without making changes. `POST /edges/tls` */
  create(body: TLSEdgeCreate, options?: CreateOptions): Promise<TLSEdge>;
  /** List TLS edges, newest first. `GET /edges/tls` */
  list(options?: ListOptions): Listing<TLSEdge>;
  /** Get a TLS edge. `GET /edges/tls/{id}` */
  get(id: string, options?: GetOptions): Promise<TLSEdge>;
  /**
   * Change the given attributes of a TLS edge. With `dry_run`, return the effect without making changes. `PATCH
   * /edges/tls/{id}`
   */
  update(id: string, body: TLSEdgeUpdate, options?: CreateOptions): Promise<TLSEdge>;
  /** Delete a TLS edge. With `dry_run`, check whether this is possible. `DELETE /edges/tls/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
  /** Return what the TLS edge would do with a connection, without opening it. `POST /edges/tls/{id}/explain` */
  explain(
    id: string,
    body?: {
      /** Address of the client; default: the caller's address. (at most 255 bytes; ip) */
      readonly source_ip?: string | null | undefined;
      /** Country of the client (ISO 3166-1 alpha-2); default: that of its address. (at most 255 bytes; country code) */
      readonly country?: string | null | undefined;
    },
    options?: CallOptions,
  ): Promise<Explanation>;
}

/** `/edges/tls/{id}/tls_termination` */
export interface EdgesTlsTlsTermination {
  /**
   * Replace the whole tls_termination module. With `dry_run`, return the effect without making changes. Sets where TLS
   * ends, and the allowed TLS versions. `PUT /edges/tls/{id}/tls_termination`
   */
  replace(id: string, body: EndpointTLSTerminationReplace, options?: CreateOptions): Promise<EndpointTLSTermination>;
  /** Get the tls_termination module. `GET /edges/tls/{id}/tls_termination` */
  get(id: string, options?: GetOptions): Promise<EndpointTLSTermination>;
  /**
   * Remove the tls_termination module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/tls/{id}/tls_termination`
   */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/tls/{id}/mutual_tls` */
export interface EdgesTlsMutualTls {
  /**
   * Replace the whole mutual_tls module. With `dry_run`, return the effect without making changes. Requests a client
   * certificate in the TLS handshake, and rejects clients without a certificate of the given CAs. The upstream receives
   * the certificate's subject in `ngrok-mtls-*` header fields. `PUT /edges/tls/{id}/mutual_tls`
   */
  replace(id: string, body: EndpointMutualTLSReplace, options?: CreateOptions): Promise<EndpointMutualTLS>;
  /** Get the mutual_tls module. `GET /edges/tls/{id}/mutual_tls` */
  get(id: string, options?: GetOptions): Promise<EndpointMutualTLS>;
  /**
   * Remove the mutual_tls module. With `dry_run`, check whether this is possible. `DELETE /edges/tls/{id}/mutual_tls`
   */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/tls/{id}/ip_restriction` */
export interface EdgesTlsIpRestriction {
  /**
   * Replace the whole ip_restriction module. With `dry_run`, return the effect without making changes. Allows a source
   * address only if a rule of the IP policies allows it and no rule denies it. `PUT /edges/tls/{id}/ip_restriction`
   */
  replace(id: string, body: EndpointIPPolicyReplace, options?: CreateOptions): Promise<EndpointIPPolicy>;
  /** Get the ip_restriction module. `GET /edges/tls/{id}/ip_restriction` */
  get(id: string, options?: GetOptions): Promise<EndpointIPPolicy>;
  /**
   * Remove the ip_restriction module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/tls/{id}/ip_restriction`
   */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/tls/{id}/country_restriction` */
export interface EdgesTlsCountryRestriction {
  /**
   * Replace the whole country_restriction module. With `dry_run`, return the effect without making changes. Allows
   * visitors by the country of their address. An address in a country of `deny` is denied. If `allow` has countries,
   * all others are denied, and so are addresses whose country is unknown, such as private ones. Without `allow`,
   * addresses whose country is unknown pass. `PUT /edges/tls/{id}/country_restriction`
   */
  replace(
    id: string,
    body: EndpointCountryRestrictionReplace,
    options?: CreateOptions,
  ): Promise<EndpointCountryRestriction>;
  /** Get the country_restriction module. `GET /edges/tls/{id}/country_restriction` */
  get(id: string, options?: GetOptions): Promise<EndpointCountryRestriction>;
  /**
   * Remove the country_restriction module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/tls/{id}/country_restriction`
   */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/tls/{id}/traffic_policy` */
export interface EdgesTlsTrafficPolicy {
  /**
   * Replace the whole traffic_policy module. With `dry_run`, return the effect without making changes. Applies a
   * traffic policy: rules with expressions and actions, by phase. `PUT /edges/tls/{id}/traffic_policy`
   */
  replace(id: string, body: EndpointTrafficPolicyReplace, options?: CreateOptions): Promise<EndpointTrafficPolicy>;
  /** Get the traffic_policy module. `GET /edges/tls/{id}/traffic_policy` */
  get(id: string, options?: GetOptions): Promise<EndpointTrafficPolicy>;
  /**
   * Remove the traffic_policy module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/tls/{id}/traffic_policy`
   */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/tls/{id}/backend` */
export interface EdgesTlsBackend {
  /**
   * Replace the whole backend module. With `dry_run`, return the effect without making changes. Sends traffic to a
   * backend. `PUT /edges/tls/{id}/backend`
   */
  replace(id: string, body: EndpointBackendReplace, options?: CreateOptions): Promise<EndpointBackend>;
  /** Get the backend module. `GET /edges/tls/{id}/backend` */
  get(id: string, options?: GetOptions): Promise<EndpointBackend>;
  /** Remove the backend module. With `dry_run`, check whether this is possible. `DELETE /edges/tls/{id}/backend` */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/tcp` */
export interface EdgesTcp {
  readonly ipRestriction: EdgesTcpIpRestriction;
  readonly countryRestriction: EdgesTcpCountryRestriction;
  readonly trafficPolicy: EdgesTcpTrafficPolicy;
  readonly backend: EdgesTcpBackend;
  /** Create a TCP edge. With `dry_run`, return the effect without making changes. `POST /edges/tcp` */
  create(body: TCPEdgeCreate, options?: CreateOptions): Promise<TCPEdge>;
  /** List TCP edges, newest first. `GET /edges/tcp` */
  list(options?: ListOptions): Listing<TCPEdge>;
  /** Get a TCP edge. `GET /edges/tcp/{id}` */
  get(id: string, options?: GetOptions): Promise<TCPEdge>;
  /**
   * Change the given attributes of a TCP edge. With `dry_run`, return the effect without making changes. `PATCH
   * /edges/tcp/{id}`
   */
  update(id: string, body: TCPEdgeUpdate, options?: CreateOptions): Promise<TCPEdge>;
  /** Delete a TCP edge. With `dry_run`, check whether this is possible. `DELETE /edges/tcp/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
  /** Return what the TCP edge would do with a connection, without opening it. `POST /edges/tcp/{id}/explain` */
  explain(
    id: string,
    body?: {
      /** Address of the client; default: the caller's address. (at most 255 bytes; ip) */
      readonly source_ip?: string | null | undefined;
      /** Country of the client (ISO 3166-1 alpha-2); default: that of its address. (at most 255 bytes; country code) */
      readonly country?: string | null | undefined;
    },
    options?: CallOptions,
  ): Promise<Explanation>;
}

/** `/edges/tcp/{id}/ip_restriction` */
export interface EdgesTcpIpRestriction {
  /**
   * Replace the whole ip_restriction module. With `dry_run`, return the effect without making changes. Allows a source
   * address only if a rule of the IP policies allows it and no rule denies it. `PUT /edges/tcp/{id}/ip_restriction`
   */
  replace(id: string, body: EndpointIPPolicyReplace, options?: CreateOptions): Promise<EndpointIPPolicy>;
  /** Get the ip_restriction module. `GET /edges/tcp/{id}/ip_restriction` */
  get(id: string, options?: GetOptions): Promise<EndpointIPPolicy>;
  /**
   * Remove the ip_restriction module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/tcp/{id}/ip_restriction`
   */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/tcp/{id}/country_restriction` */
export interface EdgesTcpCountryRestriction {
  /**
   * Replace the whole country_restriction module. With `dry_run`, return the effect without making changes. Allows
   * visitors by the country of their address. An address in a country of `deny` is denied. If `allow` has countries,
   * all others are denied, and so are addresses whose country is unknown, such as private ones. Without `allow`,
   * addresses whose country is unknown pass. `PUT /edges/tcp/{id}/country_restriction`
   */
  replace(
    id: string,
    body: EndpointCountryRestrictionReplace,
    options?: CreateOptions,
  ): Promise<EndpointCountryRestriction>;
  /** Get the country_restriction module. `GET /edges/tcp/{id}/country_restriction` */
  get(id: string, options?: GetOptions): Promise<EndpointCountryRestriction>;
  /**
   * Remove the country_restriction module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/tcp/{id}/country_restriction`
   */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/tcp/{id}/traffic_policy` */
export interface EdgesTcpTrafficPolicy {
  /**
   * Replace the whole traffic_policy module. With `dry_run`, return the effect without making changes. Applies a
   * traffic policy: rules with expressions and actions, by phase. `PUT /edges/tcp/{id}/traffic_policy`
   */
  replace(id: string, body: EndpointTrafficPolicyReplace, options?: CreateOptions): Promise<EndpointTrafficPolicy>;
  /** Get the traffic_policy module. `GET /edges/tcp/{id}/traffic_policy` */
  get(id: string, options?: GetOptions): Promise<EndpointTrafficPolicy>;
  /**
   * Remove the traffic_policy module. With `dry_run`, check whether this is possible. `DELETE
   * /edges/tcp/{id}/traffic_policy`
   */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/edges/tcp/{id}/backend` */
export interface EdgesTcpBackend {
  /**
   * Replace the whole backend module. With `dry_run`, return the effect without making changes. Sends traffic to a
   * backend. `PUT /edges/tcp/{id}/backend`
   */
  replace(id: string, body: EndpointBackendReplace, options?: CreateOptions): Promise<EndpointBackend>;
  /** Get the backend module. `GET /edges/tcp/{id}/backend` */
  get(id: string, options?: GetOptions): Promise<EndpointBackend>;
  /** Remove the backend module. With `dry_run`, check whether this is possible. `DELETE /edges/tcp/{id}/backend` */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/vaults` */
export interface Vaults {
  readonly secrets: VaultsSecrets;
  /** Create a vault. With `dry_run`, return the effect without making changes. `POST /vaults` */
  create(body: VaultCreate, options?: CreateOptions): Promise<Vault>;
  /** List vaults, newest first. `GET /vaults` */
  list(options?: ListOptions): Listing<Vault>;
  /** Get a vault. `GET /vaults/{id}` */
  get(id: string, options?: GetOptions): Promise<Vault>;
  /**
   * Change the given attributes of a vault. With `dry_run`, return the effect without making changes. `PATCH
   * /vaults/{id}`
   */
  update(id: string, body: VaultUpdate, options?: CreateOptions): Promise<Vault>;
  /** Delete a vault. With `dry_run`, check whether this is possible. `DELETE /vaults/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/vaults/{id}/secrets` */
export interface VaultsSecrets {
  /** List the secrets of a vault, newest first. `GET /vaults/{id}/secrets` */
  list(id: string, options?: VaultsSecretsListOptions): Listing<Secret>;
}

/** `/vault_secrets` */
export interface VaultSecrets {
  /** Create a secret. With `dry_run`, return the effect without making changes. `POST /vault_secrets` */
  create(body: SecretCreate, options?: CreateOptions): Promise<Secret>;
  /** List secrets, newest first. `GET /vault_secrets` */
  list(options?: ListOptions): Listing<Secret>;
  /** Get a secret. `GET /vault_secrets/{id}` */
  get(id: string, options?: GetOptions): Promise<Secret>;
  /**
   * Change the given attributes of a secret. With `dry_run`, return the effect without making changes. `PATCH
   * /vault_secrets/{id}`
   */
  update(id: string, body: SecretUpdate, options?: CreateOptions): Promise<Secret>;
  /** Delete a secret. With `dry_run`, check whether this is possible. `DELETE /vault_secrets/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/event_destinations` */
export interface EventDestinations {
  readonly events: EventDestinationsEvents;
  /**
   * Create an event destination. With `dry_run`, return the effect without making changes. `POST /event_destinations`
   */
  create(body: EventDestinationCreate, options?: CreateOptions): Promise<EventDestination>;
  /** List event destinations, newest first. `GET /event_destinations` */
  list(options?: ListOptions): Listing<EventDestination>;
  /** Get an event destination. `GET /event_destinations/{id}` */
  get(id: string, options?: GetOptions): Promise<EventDestination>;
  /**
   * Change the given attributes of an event destination. With `dry_run`, return the effect without making changes.
   * `PATCH /event_destinations/{id}`
   */
  update(id: string, body: EventDestinationUpdate, options?: CreateOptions): Promise<EventDestination>;
  /** Delete an event destination. With `dry_run`, check whether this is possible. `DELETE /event_destinations/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/event_destinations/{id}/events` */
export interface EventDestinationsEvents {
  /**
   * List the events that were recently delivered to a destination. Keys with type scopes get only events of these
   * types. `GET /event_destinations/{id}/events`
   */
  get(id: string, options?: ReadOptions): Promise<DeliveredEvents>;
}

/** `/event_subscriptions` */
export interface EventSubscriptions {
  readonly sources: EventSubscriptionsSources;
  /**
   * Create an event subscription. With `dry_run`, return the effect without making changes. `POST /event_subscriptions`
   */
  create(body: EventSubscriptionCreate, options?: CreateOptions): Promise<EventSubscription>;
  /** List event subscriptions, newest first. `GET /event_subscriptions` */
  list(options?: ListOptions): Listing<EventSubscription>;
  /** Get an event subscription. `GET /event_subscriptions/{id}` */
  get(id: string, options?: GetOptions): Promise<EventSubscription>;
  /**
   * Change the given attributes of an event subscription. With `dry_run`, return the effect without making changes.
   * `PATCH /event_subscriptions/{id}`
   */
  update(id: string, body: EventSubscriptionUpdate, options?: CreateOptions): Promise<EventSubscription>;
  /**
   * Delete an event subscription. With `dry_run`, check whether this is possible. `DELETE /event_subscriptions/{id}`
   */
  delete(id: string, options?: CreateOptions): Promise<void>;
}

/** `/event_subscriptions/{subscription_id}/sources` */
export interface EventSubscriptionsSources {
  /** Add a type of event to a subscription. `POST /event_subscriptions/{subscription_id}/sources` */
  create(
    subscriptionId: string,
    body?: {
      /**
       * `<resource>_created.v0`, `<resource>_updated.v0`, `<resource>_deleted.v0`, `http_request_complete.v0` or
       * `tcp_connection_closed.v0` or `login_completed.v0` or `login_refused.v0` or `login_ended.v0` or
       * `inbox_message_dead.v0` or `inbox_backlog.v0`. (at most 255 bytes; event type)
       */
      readonly type: string;
    },
    options?: CallOptions,
  ): Promise<EventSource>;
  /** List the types of events of a subscription. `GET /event_subscriptions/{subscription_id}/sources` */
  list(subscriptionId: string, options?: ReadOptions): Listing<EventSource>;
  /** Get a type of event of a subscription. `GET /event_subscriptions/{subscription_id}/sources/{type}` */
  get(subscriptionId: string, type: string, options?: ReadOptions): Promise<EventSource>;
  /**
   * Return the source unchanged. Sources have no fields to change. `PATCH
   * /event_subscriptions/{subscription_id}/sources/{type}`
   */
  update(subscriptionId: string, type: string, options?: CallOptions): Promise<EventSource>;
  /** Remove a type of event from a subscription. `DELETE /event_subscriptions/{subscription_id}/sources/{type}` */
  delete(subscriptionId: string, type: string, options?: CallOptions): Promise<void>;
}

/** Below `/app`. */
export interface App {
  readonly users: AppUsers;
  readonly sessions: AppSessions;
}

/** `/app/users` */
export interface AppUsers {
  /** Get an application user. `GET /app/users/{id}` */
  get(id: string, options?: ReadOptions): Promise<ApplicationUser>;
  /** Delete an application user. With `dry_run`, check whether this is possible. `DELETE /app/users/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
  /** List application users, newest first. `GET /app/users` */
  list(options?: AppUsersListOptions): Listing<ApplicationUser>;
}

/** `/app/sessions` */
export interface AppSessions {
  /** Get an application session. `GET /app/sessions/{id}` */
  get(id: string, options?: ReadOptions): Promise<ApplicationSession>;
  /** Delete an application session. With `dry_run`, check whether this is possible. `DELETE /app/sessions/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
  /** List application sessions, newest first. `GET /app/sessions` */
  list(options?: AppUsersListOptions): Listing<ApplicationSession>;
}

/** `/service_tokens` */
export interface ServiceTokens {
  /** Create a service token. With `dry_run`, return the effect without making changes. `POST /service_tokens` */
  create(body: ServiceTokenCreate, options?: CreateOptions): Promise<ServiceToken>;
  /** List service tokens, newest first. `GET /service_tokens` */
  list(options?: ListOptions): Listing<ServiceToken>;
  /** Get a service token. `GET /service_tokens/{id}` */
  get(id: string, options?: GetOptions): Promise<ServiceToken>;
  /**
   * Change the given attributes of a service token. With `dry_run`, return the effect without making changes. `PATCH
   * /service_tokens/{id}`
   */
  update(id: string, body: ServiceTokenUpdate, options?: CreateOptions): Promise<ServiceToken>;
  /** Delete a service token. With `dry_run`, check whether this is possible. `DELETE /service_tokens/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
  /**
   * Replace the token by a new one. A token from an earlier rotation ends immediately. `POST
   * /service_tokens/{id}/rotate`
   */
  rotate(
    id: string,
    body?: {
      /** Minutes for which the present token stays valid. 0: it ends immediately. (0 to 43200) */
      readonly previous_valid_minutes?: number | null | undefined;
    },
    options?: CallOptions,
  ): Promise<ServiceToken>;
}

/** `/tunnel_sessions` */
export interface TunnelSessions {
  readonly pulse: TunnelSessionsPulse;
  /** Get a tunnel session. `GET /tunnel_sessions/{id}` */
  get(id: string, options?: ReadOptions): Promise<TunnelSession>;
  /** List tunnel sessions, newest first. `GET /tunnel_sessions` */
  list(options?: AppUsersListOptions): Listing<TunnelSession>;
  /** Tell the agent to restart. `POST /tunnel_sessions/{id}/restart` */
  restart(id: string, options?: CallOptions): Promise<void>;
  /** Tell the agent to stop. `POST /tunnel_sessions/{id}/stop` */
  stop(id: string, options?: CallOptions): Promise<void>;
  /** Tell the agent to update within its major version. `POST /tunnel_sessions/{id}/update` */
  update(
    id: string,
    body?: {
      /** Target version; empty: the newest compatible version. (at most 255 bytes) */
      readonly version?: string | null | undefined;
    },
    options?: CallOptions,
  ): Promise<void>;
}

/** `/tunnel_sessions/{id}/pulse` */
export interface TunnelSessionsPulse {
  /**
   * Send a heartbeat to the agent, and return its delay and the time of the last data. `GET
   * /tunnel_sessions/{id}/pulse`
   */
  get(id: string, options?: ReadOptions): Promise<TunnelSessionPulse>;
}

/** `/nodes` */
export interface Nodes {
  /** Get a node. `GET /nodes/{id}` */
  get(id: string, options?: ReadOptions): Promise<Node>;
  /** List nodes, newest first. `GET /nodes` */
  list(options?: AppUsersListOptions): Listing<Node>;
}

/** `/tunnels` */
export interface Tunnels {
  /** Get a tunnel. `GET /tunnels/{id}` */
  get(id: string, options?: ReadOptions): Promise<Tunnel>;
  /** List tunnels, newest first. `GET /tunnels` */
  list(options?: AppUsersListOptions): Listing<Tunnel>;
}

/** `/endpoints` */
export interface Endpoints {
  /** Get an endpoint. `GET /endpoints/{id}` */
  get(id: string, options?: ReadOptions): Promise<Endpoint>;
  /**
   * Change the given attributes of a cloud endpoint. With `dry_run`, return the effect without making changes. `PATCH
   * /endpoints/{id}`
   */
  update(id: string, body: CloudEndpointUpdate, options?: CreateOptions): Promise<CloudEndpoint>;
  /** Delete a cloud endpoint. With `dry_run`, check whether this is possible. `DELETE /endpoints/{id}` */
  delete(id: string, options?: CreateOptions): Promise<void>;
  /** List endpoints, newest first. `GET /endpoints` */
  list(options?: EndpointsListOptions): Listing<Endpoint>;
  /** Create a cloud endpoint. With `dry_run`, return the effect without making changes. `POST /endpoints` */
  create(body: CloudEndpointCreate, options?: CreateOptions): Promise<CloudEndpoint>;
  /**
   * Simulate a request to an endpoint of an agent or a cloud endpoint. For tls and tcp endpoints, simulate a
   * connection. Nothing is sent. `POST /endpoints/{id}/explain`
   */
  explain(
    id: string,
    body?: {
      /** Method. (at most 255 bytes; method) */
      readonly method?: string | null | undefined;
      /** URL, instead of `host` and `path`. (at most 16384 bytes; url) */
      readonly url?: string | null | undefined;
      /** Host; default: the first host of the edge. (at most 255 bytes; host) */
      readonly host?: string | null | undefined;
      /** Path and query; default: `/`. (at most 16384 bytes; request target) */
      readonly path?: string | null | undefined;
      /** Header fields of the client. Host is optional. (at most 128) */
      readonly headers?: Readonly<Record<string, string>> | null | undefined;
      /** Address of the client; default: the caller's address. (at most 255 bytes; ip) */
      readonly source_ip?: string | null | undefined;
      /** Country of the client (ISO 3166-1 alpha-2); default: that of its address. (at most 255 bytes; country code) */
      readonly country?: string | null | undefined;
      /** Body. (at most 524288 bytes) */
      readonly body?: string | null | undefined;
      /** A visitor to treat as logged in: with an existing session, or else as after a new login. */
      readonly as?: {
        /** E-mail address. (at most 320 bytes; email) */
        readonly email: string;
        /** Whether the provider has verified the address. */
        readonly email_verified?: boolean | null | undefined;
        /** Id at the provider. (at most 1024 bytes) */
        readonly provider_user_id?: string | null | undefined;
        /** Name. (at most 1024 bytes) */
        readonly name?: string | null | undefined;
        /** Teams, organizations or groups. (at most 100) */
        readonly groups?: readonly string[] | null | undefined;
      } | null | undefined;
      /** Simulated response of the upstream. */
      readonly response?: {
        /** Status. (200 to 599) */
        readonly status_code?: number | null | undefined;
        /** Header fields. (at most 128) */
        readonly headers?: Readonly<Record<string, string>> | null | undefined;
        /** Body, for rules of traffic policies that act on it. (at most 524288 bytes) */
        readonly body?: string | null | undefined;
      } | null | undefined;
    },
    options?: CallOptions,
  ): Promise<Explanation>;
}

/** `/revisions` */
export interface Revisions {
  /**
   * List writes in the account, newest first: author, operation, reason, and up to 20 changes of each. `GET /revisions`
   */
  list(options?: RevisionsListOptions): Listing<Revision>;
  /** Get a write with all its changes. `GET /revisions/{id}` */
  get(id: string, options?: ReadOptions): Promise<Revision>;
  /**
   * Restore the account's objects to their state at a revision, as one new revision. API keys and agent tokens stay
   * unchanged. `POST /revisions/{id}/rollback`
   */
  rollback(id: string, options?: RollbackOptions): Promise<Rollback>;
}

/** `/inbox_messages` */
export interface InboxMessages {
  readonly payload: InboxMessagesPayload;
  /**
   * List the messages of all inboxes, newest first. `provider`, `event_type`, `since` and `text` look among the newest
   * 100,000 messages that match `route_id` and `state`. `GET /inbox_messages`
   */
  list(options?: InboxMessagesListOptions): Listing<InboxMessage>;
  /** Get a message of an inbox with its attempts. `GET /inbox_messages/{id}` */
  get(id: string, options?: ReadOptions): Promise<InboxMessageDetail>;
  /**
   * Deliver all messages that match now, at most 10,000. With `dry_run`, only count them. `POST
   * /inbox_messages/deliver`
   */
  deliverAll(options?: DeliverAllOptions): Promise<InboxChange>;
  /** Deliver a message now, also if it has ended. `POST /inbox_messages/{id}/deliver` */
  deliver(id: string, options?: CallOptions): Promise<void>;
  /**
   * Discard all messages that match and are not delivered, at most 10,000. With `dry_run`, only count them. `POST
   * /inbox_messages/discard`
   */
  discardAll(options?: DeliverAllOptions): Promise<InboxChange>;
  /** Discard a message that is not delivered. `POST /inbox_messages/{id}/discard` */
  discard(id: string, options?: CallOptions): Promise<void>;
}

/** `/inbox_messages/{id}/payload` */
export interface InboxMessagesPayload {
  /** Get the header fields and the body of a message as they arrived. `GET /inbox_messages/{id}/payload` */
  get(id: string, options?: ReadOptions): Promise<InboxPayload>;
}

/** `/inboxes` */
export interface Inboxes {
  /** List the inboxes with messages that wait or are dead. `GET /inboxes` */
  list(options?: ReadOptions): Listing<Inbox>;
  /**
   * Pause the deliveries of a route's inbox. Messages are still stored. The id is the route's. `POST
   * /inboxes/{id}/pause`
   */
  pause(id: string, options?: CallOptions): Promise<void>;
  /** Resume the deliveries of a route's inbox. `POST /inboxes/{id}/resume` */
  resume(id: string, options?: CallOptions): Promise<void>;
}

/** `/requests` */
export interface Requests {
  readonly export: RequestsExport;
  readonly exchange: RequestsExchange;
  /**
   * List recent requests, newest first: all that were denied, answered at the edge or failed, and a sample of the
   * others. `GET /requests`
   */
  list(options?: RequestsListOptions): Listing<Request>;
  /** Get a recent request with all its decisions, by the request id in its response. `GET /requests/{id}` */
  get(id: string, options?: ReadOptions): Promise<Request>;
  /**
   * Make the agent that handled a request replay it, unchanged, directly to its service. Each `Idempotency-Key` replays
   * it once. `POST /requests/{id}/replay`
   */
  replay(id: string, options?: CallOptions): Promise<Exchange>;
}

/** `/requests/export` */
export interface RequestsExport {
  /**
   * Export captured requests, newest first, as JSON Lines or as an HTTP archive (HAR). Header fields and bodies need
   * the scope `exchanges`. If captured requests could not be read, the last line has the reason as `incomplete`. `GET
   * /requests/export`
   */
  get(options?: RequestsExportGetOptions): Promise<string>;
}

/** `/requests/{id}/exchange` */
export interface RequestsExchange {
  /**
   * Get the captured request from the agent that handled it: header fields and bodies of request and response, without
   * credentials. `GET /requests/{id}/exchange`
   */
  get(id: string, options?: RequestsExchangeGetOptions): Promise<Exchange>;
}

/** `/connections` */
export interface Connections {
  /**
   * List recent connections to TLS and TCP edges and endpoints, newest first: all that did not reach an upstream, and a
   * sample of the others. `GET /connections`
   */
  list(options?: ConnectionsListOptions): Listing<Connection>;
  /**
   * Get a recent connection with all its decisions, by the id from the log or event. Each rule of a traffic policy is a
   * step. `GET /connections/{id}`
   */
  get(id: string, options?: ReadOptions): Promise<Connection>;
}

/** `/policies/check` */
export interface Policies {
  readonly language: PoliciesLanguage;
  /**
   * Check a traffic policy for errors, with line and column, and simulate its rules with a request. Nothing is stored
   * or sent. Secrets, IP policies and internal endpoints are not available. `POST /policies/check`
   */
  check(
    body?: {
      /** The policy, as JSON or YAML. (at most 65536 bytes) */
      readonly policy: string;
      /** Protocol of the policy's endpoint: routes of HTTPS, or edges and endpoints of TLS or TCP. */
      readonly protocol?: "http" | "tls" | "tcp" | null | undefined;
      /** Method. (at most 255 bytes; method) */
      readonly method?: string | null | undefined;
      /** URL, instead of `host` and `path`. (at most 16384 bytes; url) */
      readonly url?: string | null | undefined;
      /** Host; default: the first host of the edge. (at most 255 bytes; host) */
      readonly host?: string | null | undefined;
      /** Path and query; default: `/`. (at most 16384 bytes; request target) */
      readonly path?: string | null | undefined;
      /** Header fields of the client. Host is optional. (at most 128) */
      readonly headers?: Readonly<Record<string, string>> | null | undefined;
      /** Address of the client; default: the caller's address. (at most 255 bytes; ip) */
      readonly source_ip?: string | null | undefined;
      /** Country of the client (ISO 3166-1 alpha-2); default: that of its address. (at most 255 bytes; country code) */
      readonly country?: string | null | undefined;
      /** Body. (at most 524288 bytes) */
      readonly body?: string | null | undefined;
      /** A visitor to treat as logged in: with an existing session, or else as after a new login. */
      readonly as?: {
        /** E-mail address. (at most 320 bytes; email) */
        readonly email: string;
        /** Whether the provider has verified the address. */
        readonly email_verified?: boolean | null | undefined;
        /** Id at the provider. (at most 1024 bytes) */
        readonly provider_user_id?: string | null | undefined;
        /** Name. (at most 1024 bytes) */
        readonly name?: string | null | undefined;
        /** Teams, organizations or groups. (at most 100) */
        readonly groups?: readonly string[] | null | undefined;
      } | null | undefined;
      /** Simulated response of the upstream. */
      readonly response?: {
        /** Status. (200 to 599) */
        readonly status_code?: number | null | undefined;
        /** Header fields. (at most 128) */
        readonly headers?: Readonly<Record<string, string>> | null | undefined;
        /** Body, for rules of traffic policies that act on it. (at most 524288 bytes) */
        readonly body?: string | null | undefined;
      } | null | undefined;
    },
    options?: CallOptions,
  ): Promise<PolicyCheck>;
}

/** `/policies/language` */
export interface PoliciesLanguage {
  /** Return the language of traffic policies: phases, actions, variables and functions. `GET /policies/language` */
  get(options?: ReadOptions): Promise<PolicyLanguage>;
}

/** `/webhooks/sign` */
export interface Webhooks {
  /** Sign a sample webhook as its provider would. Nothing is stored or sent. `POST /webhooks/sign` */
  sign(
    body?: {
      /** The provider. */
      readonly provider: "aftership" | "airship" | "alchemy" | "autodesk" | "bitbucket" | "bolt" | "box" | "brex" | "buildkite" | "calendly" | "castle" | "chargify" | "circleci" | "clearbit" | "clerk" | "coinbase" | "contentful" | "docusign" | "dropbox" | "facebook_graph_api" | "facebook_messenger" | "frameio" | "github" | "gitlab" | "go1" | "graphcms" | "heroku" | "hostedhooks" | "hubspot" | "instagram" | "intercom" | "jira" | "launch_darkly" | "linear" | "mailchimp" | "mailgun" | "microsoft_teams" | "modern_treasury" | "mongodb" | "mux" | "orb" | "orbit" | "pagerduty" | "pinwheel" | "plivo" | "pusher" | "sendgrid" | "sentry" | "shopify" | "signal_sciences" | "slack" | "sns" | "sonatype" | "square" | "stripe" | "svix" | "terraform" | "tiktok" | "trendmicro_conformity" | "twilio" | "twitter" | "typeform" | "vmware" | "webex" | "whatsapp" | "worldline" | "xero" | "zendesk" | "zoom";
      /** Secret that you share with the provider; for SendGrid the private key. (at most 4096 bytes; secret) */
      readonly secret?: string | null | undefined;
      /** Target URL: some providers include it in the signature. (at most 4096 bytes; url) */
      readonly url: string;
      /** Its body. (at most 524288 bytes) */
      readonly body?: string | null | undefined;
    },
    options?: CallOptions,
  ): Promise<SignedWebhook>;
}

/** `/references` */
export interface References {
  /** List the objects that refer to an object, such as the routes of a backend. `GET /references/{id}` */
  get(id: string, options?: ReadOptions): Promise<ReferenceList>;
}

/** `/backtests` */
export interface Backtests {
  /**
   * Try a candidate configuration on captured requests, without sending or changing anything: count which requests it
   * would decide differently. Only for keys that may write and read everything. `POST /backtests`
   */
  create(body: BacktestRequest, options?: CallOptions): Promise<Backtest>;
  /** Get a backtest with its results so far. Results are available for an hour. `GET /backtests/{id}` */
  get(id: string, options?: ReadOptions): Promise<Backtest>;
  /** Cancel a backtest. Its results so far stay available for an hour. `DELETE /backtests/{id}` */
  delete(id: string, options?: CallOptions): Promise<Backtest>;
}

/** `/console_links` */
export interface ConsoleLinks {
  /**
   * Create a link that logs in to the console once, within 15 minutes, with the permissions of the API key. `POST
   * /console_links`
   */
  create(options?: CallOptions): Promise<ConsoleLink>;
}
