/** Who can log in at the development identity provider: one of each kind that a service has to get right. */

export interface Person {
  /** The provider's id of them: `sub`, and the NameID. */
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

/** Whom a form describes: a button of one of the people, or fields of their own. Undefined when it names nobody. */
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
