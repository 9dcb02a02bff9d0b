/** What a roster may have: it knows its own place there. Nothing else writes it; -1 in none. */
export interface Listed {
  place: number;
}

/** The place of a member that is in several rosters: it takes one of these in each. */
export class Seat<T> implements Listed {
  place = -1;
  readonly member: T;

  constructor(member: T) {
    this.member = member;
  }
}

/**
 * A set for members that come and go with every request or connection. It makes nothing when they do, unlike `Set`, whose
 * tables are replaced every few changes; each table keeps the next one alive, so that one which has grown old in the
 * collector's eyes drags all that follow along, until the whole heap is collected (decision 34). A member is in one
 * roster at most.
 */
export class Roster<T extends Listed> {
  readonly #members: T[] = [];

  get size(): number {
    return this.#members.length;
  }

  /** The one at this place, from 0 to `size`; they change places when one leaves. */
  at(place: number): T {
    return this.#members[place] as T;
  }

  /** Those of now, in no order. */
  members(): readonly T[] {
    return this.#members.slice();
  }

  add(member: T): void {
    if (member.place >= 0) return;
    member.place = this.#members.length;
    this.#members.push(member);
  }

  /** False when it was not there. */
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
