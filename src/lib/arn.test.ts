import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { awsEndpoint, readArn } from "./arn.ts";

describe("names of AWS resources", () => {
  it("names of AWS resources are parsed into their parts", () => {
    assert.deepEqual(readArn("arn:aws:logs:eu-west-1:123456789012:log-group:/a/b:*"), {
      partition: "aws",
      service: "logs",
      region: "eu-west-1",
      account: "123456789012",
      resource: "log-group:/a/b:*",
    });
    assert.equal(readArn("arn:aws:iam::123456789012:role/events")?.region, "");
  });

  it("names of AWS resources must have the exact form", () => {
    const wrong = ["", "arn:aws:kinesis:x", "arn:aws:kinesis:evil.example#:123456789012:stream/x", "arn:aws:a:b:1:c"];
    for (const text of wrong) assert.equal(readArn(text), undefined, text);
  });

  it("names of AWS resources give the service endpoint of their region", () => {
    const at = (partition: string, region: string): string => awsEndpoint({ partition, region }, "kinesis");
    assert.equal(at("aws", "eu-central-1"), "https://kinesis.eu-central-1.amazonaws.com/");
    assert.equal(at("aws-cn", "cn-north-1"), "https://kinesis.cn-north-1.amazonaws.com.cn/");
    assert.equal(at("aws-us-gov", "us-gov-west-1"), "https://kinesis.us-gov-west-1.amazonaws.com/");
  });
});
