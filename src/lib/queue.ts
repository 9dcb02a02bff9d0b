/** A place in a `Queue`. */
export interface Queued<Member> {
  older: Queued<Member> | undefined;
  newer: Queued<Member> | undefined;
  readonly member: Member;
}

/**
 * First in, first out. A member can be removed from any position in constant time. A `Set` would search its holes for
 * the first member.
 */
export class Queue<Member> {
  #oldest: Queued<Member> | undefined;
  #newest: Queued<Member> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The oldest member. */
  get first(): Member | undefined {
    return this.#oldest?.member;
  }

  /** Returns the present members, the oldest first. */
  values(): Member[] {
    const members: Member[] = [];
    for (let place = this.#oldest; place !== undefined; place = place.newer) members.push(place.member);
    return members;
  }

  /** @returns its place; pass it to `delete`, once */
  add(member: Member): Queued<Member> {
    const place: Queued<Member> = { older: this.#newest, newer: undefined, member };
    if (this.#newest === undefined) this.#oldest = place;
    else this.#newest.newer = place;
    this.#newest = place;
    this.#size += 1;
    return place;
  }

  delete({ older, newer }: Queued<Member>): void {
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    this.#size -= 1;
  }
}
