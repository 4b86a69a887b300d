const POSTPONED_PHRASE = "Retries were postponed by hand until";

export const describePostponement = (time: string) => `${POSTPONED_PHRASE} ${time}.`;

/** Whether a stored sentence says that a person postponed the retries. */
export const isPostponement = (sentence: string) => sentence.startsWith(POSTPONED_PHRASE);

/** The reason of a retry that a person requested. */
export const RETRY_AT_ONCE_REASON = "A retry at once was requested by hand.";
