/** Statuses whose responses have no body, whatever their fields say (RFC 9112 §6.3). */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 304;
}
