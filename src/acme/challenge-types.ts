/** Challenge types that a server which only accepts connections can fulfil. */
export const challengeTypes = ["tls-alpn-01", "http-01"] as const;
export type ChallengeType = (typeof challengeTypes)[number];
