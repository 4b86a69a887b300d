/** Time and randomness, created in process/clock.ts and passed to pure code. */
export interface Ports {
  /** Service time, for everything stored or scheduled. May run fast in demos and tests. */
  now(): Date;
  /** Real time, for leases, time-outs, rate limits and page tokens. */
  realNow(): Date;
  /** Never jumps; for durations. */
  monotonicMs(): number;
  /** Service time per real time; 1 except in demos and tests. */
  clockRate: number;
  /** Cryptographically secure. */
  randomBytes(size: number): Buffer;
  /** Returns a UUIDv7 with service time. */
  newId(): string;
}
