type FindingVerdict = "ok" | "warn" | "fail";

export interface Finding {
  verdict: FindingVerdict;
  what: string;
  says: string;
}

export const createFinding = (verdict: FindingVerdict, what: string, says: string): Finding => ({
  verdict,
  what,
  says,
});
