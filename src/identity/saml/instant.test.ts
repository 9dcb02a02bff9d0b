import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readDuration, readInstant, writeInstant } from "./instant.ts";

describe("times of SAML", () => {
  it("times of SAML are parsed in UTC, to the millisecond, and only for existing days", () => {
    assert.equal(readInstant("2027-03-04T05:06:07Z"), Date.UTC(2027, 2, 4, 5, 6, 7));
    assert.equal(readInstant("2027-03-04T05:06:07.1239999Z"), Date.UTC(2027, 2, 4, 5, 6, 7, 123));
    assert.equal(readInstant("2028-02-29T00:00:00Z"), Date.UTC(2028, 1, 29));
    for (const text of [
      undefined,
      "",
      "2027-03-04",
      "2027-03-04T05:06:07",
      "2027-03-04T05:06:07+00:00",
      "2027-03-04t05:06:07z",
      " 2027-03-04T05:06:07Z",
      "2027-02-29T00:00:00Z",
      "2027-04-31T00:00:00Z",
      "2027-13-01T00:00:00Z",
      "2027-03-04T24:00:00Z",
      "2027-03-04T05:06:60Z",
      "2027-03-04T05:06:07.Z",
      "+12027-03-04T05:06:07Z",
      "-2027-03-04T05:06:07Z",
    ]) {
      assert.equal(readInstant(text), undefined, text ?? "none");
    }
    assert.equal(writeInstant(Date.UTC(2027, 2, 4, 5, 6, 7, 999)), "2027-03-04T05:06:07Z");
  });

  it("durations are parsed to their length", () => {
    assert.equal(readDuration("PT1H"), 3600);
    assert.equal(readDuration("P1DT1M1.5S"), 86_461);
    assert.equal(readDuration("P1Y1M"), 395 * 86_400);
    assert.equal(readDuration("P0Y0M0DT6H0M0.000S"), 21_600);
    for (const text of ["", "P", "PT", "P1", "1H", "-PT1H", "PT1H1", "P1W", "P1DT", "PT-1H"]) {
      assert.equal(readDuration(text), undefined, text);
    }
  });
});
