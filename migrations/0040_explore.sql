-- Whether retries may be sampled to learn from them. null: once the model has trained on enough outcomes of this installation.
alter table merchants add column explore boolean;
