/** All webhook providers and their signature schemes (semantics, "Webhooks"). */
import { hmac } from "./hmac.ts";
import type { Scheme } from "./scheme.ts";
import { sns } from "./sns.ts";
import { basicCredentials, contentful, graphcms, mailgun, sendgrid, sharedToken, withBodyTime } from "./special.ts";
import { mailchimp, plivoMainV3, plivoV2, plivoV3, twilio } from "./url-signing.ts";

const base64 = { encoding: "base64" } as const;
const fiveMinutes = { toleranceSeconds: 300 } as const;
/** `t=…,v1=…` over time, dot, body. */
const timedPairs = { pairs: { timestamp: "t", signature: "v1" }, over: "{time}.{body}" } as const;
const timedPairsS = { pairs: { timestamp: "t", signature: "s" }, over: "{time}.{body}" } as const;

const facebook = [
  hmac("x-hub-signature-256", { prefix: "sha256=" }),
  hmac("x-hub-signature", { prefix: "sha1=", hash: "sha1" }),
];

const svixOptions = {
  ...base64,
  ...fiveMinutes,
  key: "base64",
  prefix: "v1,",
  separator: " ",
  over: "{id}.{time}.{body}",
} as const;
const svix = [
  hmac("svix-signature", { ...svixOptions, id: "svix-id", timestamp: "svix-timestamp" }),
  hmac("webhook-signature", { ...svixOptions, id: "webhook-id", timestamp: "webhook-timestamp" }),
];

const hubspotV3 = {
  ...base64,
  ...fiveMinutes,
  timestamp: "x-hubspot-request-timestamp",
  time: "milliseconds",
} as const;

function older(scheme: Scheme): Scheme {
  return { ...scheme, isOlder: true };
}

/** Schemes by provider. The first one signs samples. A request passes if any scheme that it claims is valid. */
export const providers: Readonly<Record<string, readonly Scheme[]>> = {
  aftership: [hmac("aftership-hmac-sha256", base64)],
  airship: [hmac("x-ua-signature", { timestamp: "x-ua-timestamp", over: "{time}:{body}" })],
  alchemy: [hmac("x-alchemy-signature")],
  autodesk: [hmac("x-adsk-signature", { prefix: "sha1hash=", hash: "sha1" })],
  bitbucket: [hmac("x-hub-signature", { prefix: "sha256=" })],
  bolt: [hmac("x-bolt-hmac-sha256", base64)],
  box: ["primary", "secondary"].map((key) =>
    hmac(`box-signature-${key}`, {
      ...base64,
      timestamp: "box-delivery-timestamp",
      time: "rfc3339",
      toleranceSeconds: 600,
      over: "{body}{time}",
    }),
  ),
  brex: svix,
  buildkite: [
    hmac("x-buildkite-signature", { pairs: { timestamp: "timestamp", signature: "signature" }, over: "{time}.{body}" }),
  ],
  calendly: [hmac("calendly-webhook-signature", timedPairs)],
  castle: [hmac("x-castle-signature", base64)],
  chargify: [hmac("x-chargify-webhook-signature-hmac-sha-256")],
  circleci: [hmac("circleci-signature", { pairs: { signature: "v1" } })],
  clearbit: [hmac("x-request-signature", { prefix: "sha1=", hash: "sha1" })],
  clerk: svix,
  coinbase: [hmac("x-cc-webhook-signature")],
  contentful: [contentful],
  docusign: Array.from({ length: 10 }, (_, at) => hmac(`x-docusign-signature-${at + 1}`, base64)),
  dropbox: [hmac("x-dropbox-signature")],
  facebook_graph_api: facebook,
  facebook_messenger: facebook,
  frameio: [
    hmac("x-frameio-signature", {
      ...fiveMinutes,
      prefix: "v0=",
      timestamp: "x-frameio-request-timestamp",
      over: "v0:{time}:{body}",
    }),
  ],
  github: [hmac("x-hub-signature-256", { prefix: "sha256=" })],
  gitlab: [sharedToken("x-gitlab-token")],
  go1: [hmac("go1-signature", timedPairs)],
  graphcms: [graphcms],
  heroku: [hmac("heroku-webhook-hmac-sha256", base64)],
  hostedhooks: [hmac("hostedhooks-signature", timedPairsS)],
  hubspot: [
    hmac("x-hubspot-signature-v3", { ...hubspotV3, over: "{method}{url}{body}{time}" }),
    hmac("x-hubspot-signature-v3", { ...hubspotV3, over: "{method}{decodedUrl}{body}{time}" }),
    older(hmac("x-hubspot-signature", { plain: true, over: "{method}{url}{body}" })),
    older(hmac("x-hubspot-signature", { plain: true })),
  ],
  instagram: facebook,
  intercom: [hmac("x-hub-signature", { prefix: "sha1=", hash: "sha1" })],
  jira: [hmac("x-hub-signature", { prefix: "sha256=" })],
  launch_darkly: [hmac("x-ld-signature")],
  linear: [withBodyTime(hmac("linear-signature"), 60)],
  mailchimp: [mailchimp],
  mailgun: [mailgun],
  microsoft_teams: [hmac("authorization", { ...base64, prefix: "HMAC ", key: "base64" })],
  modern_treasury: [hmac("x-signature")],
  mongodb: [hmac("endpoint-signature", { prefix: "sha256=" }), hmac("x-hook-signature", { ...base64, hash: "sha1" })],
  mux: [hmac("mux-signature", { ...timedPairs, ...fiveMinutes })],
  orb: [
    hmac("x-orb-signature", { prefix: "v1=", timestamp: "x-orb-timestamp", time: "rfc3339", over: "v1:{time}:{body}" }),
  ],
  orbit: [hmac("x-orbit-signature")],
  pagerduty: [hmac("x-pagerduty-signature", { prefix: "v1=", separator: "," })],
  pinwheel: [hmac("x-pinwheel-signature", { prefix: "v2=", timestamp: "x-timestamp", over: "v2:{time}:{body}" })],
  plivo: [plivoV3, plivoMainV3, older(plivoV2)],
  pusher: [hmac("x-pusher-signature")],
  sendgrid: [sendgrid],
  sentry: [hmac("sentry-hook-signature")],
  shopify: [hmac("x-shopify-hmac-sha256", base64)],
  signal_sciences: [hmac("x-sigsci-signature")],
  slack: [
    hmac("x-slack-signature", {
      ...fiveMinutes,
      prefix: "v0=",
      timestamp: "x-slack-request-timestamp",
      over: "v0:{time}:{body}",
    }),
  ],
  sns: [sns()],
  sonatype: [hmac("x-nexus-webhook-signature", { hash: "sha1" })],
  square: [
    hmac("x-square-hmacsha256-signature", { ...base64, over: "{url}{body}" }),
    hmac("x-square-signature", { ...base64, hash: "sha1", over: "{url}{body}" }),
  ],
  stripe: [hmac("stripe-signature", { ...timedPairs, ...fiveMinutes })],
  svix,
  terraform: [hmac("x-tfe-notification-signature", { hash: "sha512" })],
  tiktok: [hmac("tiktok-signature", timedPairsS)],
  trendmicro_conformity: [hmac("x-conformity-signature")],
  twilio: [twilio],
  twitter: [hmac("x-twitter-webhooks-signature", { ...base64, prefix: "sha256=" })],
  typeform: [hmac("typeform-signature", { ...base64, prefix: "sha256=" })],
  vmware: [basicCredentials],
  webex: [hmac("x-spark-signature", { hash: "sha1" })],
  whatsapp: facebook,
  worldline: [hmac("x-gcs-signature", base64)],
  xero: [hmac("x-xero-signature", base64)],
  zendesk: [
    hmac("x-zendesk-webhook-signature", {
      ...base64,
      timestamp: "x-zendesk-webhook-signature-timestamp",
      time: "rfc3339",
      over: "{time}{body}",
    }),
  ],
  zoom: [hmac("x-zm-signature", { prefix: "v0=", timestamp: "x-zm-request-timestamp", over: "v0:{time}:{body}" })],
};

/** Whether the provider also signs in older forms. */
export function signsInOlderForms(provider: string): boolean {
  return (providers[provider] ?? []).some(({ isOlder }) => isOlder === true);
}

const aliases: Readonly<Record<string, string>> = {
  signalsciences: "signal_sciences",
  sonatype_nexus: "sonatype",
  vmware_workspace: "vmware",
};

/** Returns the provider with this name, in any case, or undefined. */
export function providerNamed(name: string): string | undefined {
  const lower = name.toLowerCase();
  const id = Object.hasOwn(aliases, lower) ? (aliases[lower] as string) : lower;
  return Object.hasOwn(providers, id) ? id : undefined;
}
