/**
 * What the addresses of a rule's login end in, at the provider as on the login host. It is made of the id of what has the
 * policy and of the rule's `auth_id`, so that it stays as long as they do, and people can tell what it is of.
 */

/** @param authId "" for none; letters, digits and "_" */
export function nameOfRule(ownerId: string, authId: string): string {
  return `${ownerId}-rule${authId === "" ? "" : `-${authId}`}`;
}

/** The id of the route: the name itself where that is a module's. */
export function ownerOfName(name: string): string {
  return name.replace(/-rule(?:-\w+)?$/, "");
}
