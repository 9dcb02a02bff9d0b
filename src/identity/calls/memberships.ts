/**
 * Memberships of different kinds in one list, each kind with a form that no other kind can have: `acme` and `@4711` are
 * organizations, `acme/ops` and `#4711` are teams. Without the marks, whoever registers an organization called `4711`
 * would be a member of the team with that number.
 */

const digits = /^\d+$/;

/** As providers and lists name it; case does not count. */
export function organizationNamed(name: string): string {
  return digits.test(name) ? `@${name}` : name.toLowerCase();
}

/** `organization/team`, or the team's number; case does not count. */
export function teamNamed(name: string): string {
  return digits.test(name) ? `#${name}` : name.toLowerCase();
}

export function isTeam(membership: string): boolean {
  return membership.startsWith("#") || membership.includes("/");
}

/** Without its mark: as the lists of a route name it. */
export function nameOfMembership(membership: string): string {
  return membership.replace(/^[#@](?=\d+$)/, "");
}
