/**
 * Memberships of different kinds in one list, each kind in an unambiguous form: `acme` and `@4711` are organizations,
 * `acme/ops` and `#4711` are teams. Without the prefixes, anyone who registers an organization called `4711` would be a
 * member of the team with that number.
 */

const digits = /^\d+$/;

/** In the spelling of providers and lists. Case-insensitive. */
export function organizationNamed(name: string): string {
  return digits.test(name) ? `@${name}` : name.toLowerCase();
}

/** `organization/team`, or the team's number. Case-insensitive. */
export function teamNamed(name: string): string {
  return digits.test(name) ? `#${name}` : name.toLowerCase();
}

export function isTeam(membership: string): boolean {
  return membership.startsWith("#") || membership.includes("/");
}

/** Removes the prefix, which gives the spelling in the lists of a route. */
export function nameOfMembership(membership: string): string {
  return membership.replace(/^[#@](?=\d+$)/, "");
}
