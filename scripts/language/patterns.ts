/** Banned phrases, each with its replacement. */
export interface Pattern {
  readonly name: string;
  readonly matches: RegExp;
  readonly hint: string;
}

const definePattern = (name: string, matches: RegExp, hint: string): Pattern => ({ name, matches, hint });

export const patterns: readonly Pattern[] = [
  definePattern("nobody", /\bnobody\b/gi, "name who is denied, as in `Requests without a session get 401`"),
  definePattern("whom", /\bwhom(?:ever)?\b/gi, "name the person or the component"),
  definePattern("whoever", /\bwhoever\b/gi, "write `anyone who` or name the person"),
  definePattern("of its own", /\bof (?:its|their|his|your|our) own\b/gi, "write `its own NOUN` or `a separate NOUN`"),
  definePattern("says so", /\b(?:says?|said|tells?) so\b/gi, "say what the component prints or returns"),
  definePattern("those that", /\bthose (?:that|of which|who)\b/gi, "repeat the noun"),
  definePattern("is none", /\b(?:is|are) none\b/gi, "write `X has no Y` or `X does not exist`"),
  definePattern("by itself", /\bby (?:itself|themselves)\b/gi, "write `automatically` or `alone`"),
  definePattern("at once", /\bat once\b/gi, "write `immediately` or `at the same time`"),
  definePattern("as it is", /\bas (?:it is|they are)(?=[,.;)]|$)/gim, "write `unchanged`"),
  definePattern("is had", /\b(?:is|are|be) had\b/gi, "write `has` with a subject"),
  definePattern(
    "who … is told",
    /\b(?:who|what) \w+ (?:is|are) (?:told|asked|kept|taken|given|refused)\b/gi,
    "name the subject",
  ),
  definePattern(
    "what is kept",
    /\bwhat (?:is|was|has been) (?:kept|told|asked|taken|said)\b/gi,
    "name what is stored or sent",
  ),
  definePattern("is told", /\b(?:is|are|be|been) told\b/gi, "write `receives` or `the server sends X to Y`"),
  definePattern("has a say", /\b(?:has|had|have) (?:a|no) say\b/gi, "write `decides` or `has no effect`"),
  definePattern("lest", /\blest\b/gi, "write `so that … not`"),
  definePattern("thereby", /\b(?:thereby|thereof|therein|whereby)\b/gi, "start a new sentence"),
  definePattern("the like", /\b(?:and|or) the like\b/gi, "list the items"),
  definePattern("otherwise than", /\botherwise (?:than|is)\b/gi, "write `different from` or `changed`"),
  definePattern("goes on", /\b(?:goes|go|went) on\b/gi, "write `continues`"),
  definePattern(
    "is there",
    /\b(?:is|are|was|were) (?:not )?there(?=[,.;:)]|$| (?:for|when|already|again))/gim,
    "write `exists`",
  ),
];
