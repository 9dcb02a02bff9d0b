/** Message and reason numbers (RFC 4250 §4). */
export const numbers = {
  disconnect: 1,
  ignore: 2,
  unimplemented: 3,
  debug: 4,
  serviceRequest: 5,
  serviceAccept: 6,
  extensions: 7,
  keyExchange: 20,
  newKeys: 21,
  exchangeInit: 30,
  exchangeReply: 31,
  authRequest: 50,
  authFailure: 51,
  authSuccess: 52,
  authBanner: 53,
  authKeyOk: 60,
  globalRequest: 80,
  requestSuccess: 81,
  requestFailure: 82,
  channelOpen: 90,
  channelOpened: 91,
  channelRefused: 92,
  channelWindow: 93,
  channelData: 94,
  channelExtendedData: 95,
  channelEnd: 96,
  channelClose: 97,
  channelRequest: 98,
  channelSuccess: 99,
  channelFailure: 100,
} as const;

/** Reasons of a disconnect (RFC 4250 §4.2.2). */
export const reasons = {
  protocol: 2,
  exchangeFailed: 3,
  tooManyConnections: 12,
  byApplication: 11,
  noMoreMethods: 14,
} as const;

/** Reasons of a refused channel (RFC 4250 §4.3). */
export const channelReasons = { prohibited: 1, unknownType: 3, resources: 4 } as const;
