/** The ways of showing control over a name that a server has which only takes connections. */
export const challengeTypes = ["tls-alpn-01", "http-01"] as const;
export type ChallengeType = (typeof challengeTypes)[number];
