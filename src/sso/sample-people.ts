/** Test users of the development identity provider: one for each case that a service must handle. */

export interface Person {
  /** The provider's id of the user: `sub` and the NameID. */
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly isVerified: boolean;
  readonly groups: readonly string[];
}

export const people: readonly Person[] = [
  { id: "ada", name: "Ada Lovelace", email: "ada@example.com", isVerified: true, groups: ["staff", "admins"] },
  { id: "eve", name: "Eve Unverified", email: "eve@example.com", isVerified: false, groups: ["staff"] },
  { id: "bjork", name: "Björk Guðmundsdóttir", email: "bjork@example.com", isVerified: true, groups: ["staff"] },
  { id: "nils", name: "Nils Nobody", email: "nils@example.org", isVerified: true, groups: [] },
];

const longest = 200;

/**
 * Returns the user in a form: a button for a predefined user, or custom fields. Returns undefined if the form names
 * none.
 */
export function personOf(form: URLSearchParams): Person | undefined {
  const field = (name: string): string => (form.get(name) ?? "").trim().slice(0, longest);
  const chosen = field("person");
  if (chosen !== "") return people.find(({ id }) => id === chosen);
  const id = field("id");
  if (id === "") return undefined;
  const groups = field("groups")
    .split(",")
    .map((group) => group.trim())
    .filter((group) => group !== "");
  return { id, name: field("name") || id, email: field("email"), isVerified: form.has("verified"), groups };
}
