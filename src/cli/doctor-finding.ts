type Verdict = "ok" | "warn" | "fail";

/** What `doctor` found out about one thing. */
export interface Finding {
  verdict: Verdict;
  what: string;
  says: string;
}

export const finding = (verdict: Verdict, what: string, says: string): Finding => ({ verdict, what, says });
