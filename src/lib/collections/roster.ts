/** A possible member of a roster. Only the roster writes its place; -1 if it is in none. */
export interface RosterMember {
  place: number;
}

/** The place of a member in several rosters: it has one seat in each. */
export class Seat<T> implements RosterMember {
  place = -1;
  readonly member: T;

  constructor(member: T) {
    this.member = member;
  }
}

/**
 * A set for members that change with every request or connection. Unlike `Set`, it allocates nothing on changes. A
 * `Set` replaces its table every few changes, and each old table keeps the next one alive. So one table in the old
 * generation retains all later ones, until the whole heap is collected (decision 34). A member is in one roster at
 * most.
 */
export class Roster<T extends RosterMember> {
  readonly #members: T[] = [];

  get size(): number {
    return this.#members.length;
  }

  /** Returns the member at this place, from 0 to `size`. Places change when a member is removed. */
  at(place: number): T {
    return this.#members[place] as T;
  }

  /** Returns the present members, in no particular order. */
  members(): readonly T[] {
    return this.#members.slice();
  }

  add(member: T): void {
    if (member.place >= 0) return;
    member.place = this.#members.length;
    this.#members.push(member);
  }

  /** Removes a member. Returns false if it was absent. */
  delete(member: T): boolean {
    const { place } = member;
    if (this.#members[place] !== member) return false;
    const last = this.#members.pop() as T;
    if (last !== member) {
      this.#members[place] = last;
      last.place = place;
    }
    member.place = -1;
    return true;
  }
}
