/** Banned phrases, each with its replacement. */
export interface Pattern {
  readonly name: string;
  readonly matches: RegExp;
  readonly hint: string;
}

const pattern = (name: string, matches: RegExp, hint: string): Pattern => ({ name, matches, hint });

export const patterns: readonly Pattern[] = [
  pattern("nobody", /\bnobody\b/gi, "name who is denied, as in `Requests without a session get 401`"),
  pattern("whom", /\bwhom(?:ever)?\b/gi, "name the person or the component"),
  pattern("whoever", /\bwhoever\b/gi, "write `anyone who` or name the person"),
  pattern("of its own", /\bof (?:its|their|his|your|our) own\b/gi, "write `its own NOUN` or `a separate NOUN`"),
  pattern("says so", /\b(?:says?|said|tells?) so\b/gi, "say what the component prints or returns"),
  pattern("those that", /\bthose (?:that|of which|who)\b/gi, "repeat the noun"),
  pattern("is none", /\b(?:is|are) none\b/gi, "write `X has no Y` or `X does not exist`"),
  pattern("by itself", /\bby (?:itself|themselves)\b/gi, "write `automatically` or `alone`"),
  pattern("at once", /\bat once\b/gi, "write `immediately` or `at the same time`"),
  pattern("as it is", /\bas (?:it is|they are)(?=[,.;)]|$)/gim, "write `unchanged`"),
  pattern("is had", /\b(?:is|are|be) had\b/gi, "write `has` with a subject"),
  pattern(
    "who … is told",
    /\b(?:who|what) \w+ (?:is|are) (?:told|asked|kept|taken|given|refused)\b/gi,
    "name the subject",
  ),
  pattern(
    "what is kept",
    /\bwhat (?:is|was|has been) (?:kept|told|asked|taken|said)\b/gi,
    "name what is stored or sent",
  ),
  pattern("is told", /\b(?:is|are|be|been) told\b/gi, "write `receives` or `the server sends X to Y`"),
  pattern("has a say", /\b(?:has|had|have) (?:a|no) say\b/gi, "write `decides` or `has no effect`"),
  pattern("lest", /\blest\b/gi, "write `so that … not`"),
  pattern("thereby", /\b(?:thereby|thereof|therein|whereby)\b/gi, "start a new sentence"),
  pattern("the like", /\b(?:and|or) the like\b/gi, "list the items"),
  pattern("otherwise than", /\botherwise (?:than|is)\b/gi, "write `different from` or `changed`"),
  pattern("goes on", /\b(?:goes|go|went) on\b/gi, "write `continues`"),
  pattern(
    "is there",
    /\b(?:is|are|was|were) (?:not )?there(?=[,.;:)]|$| (?:for|when|already|again))/gim,
    "write `exists`",
  ),
];
