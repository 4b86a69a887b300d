-- The first arithmetic of ranges, whose looks name no method, held an arm of which nothing, or everything, was recovered for certain to stay so. Experiments of
-- which it said the last word, also those of which all is counted, are looked at anew: their sums are right. One look builds on no earlier one, so its
-- range may be wider than one that was narrowed from day to day, but it holds what it promises.

update experiments e set look_at = started_at
where (
  select l.look -> 'method' is null from experiment_looks l
  where l.merchant_id = e.merchant_id and l.experiment_id = e.id
  order by l.at desc limit 1);

-- Where nothing, or everything, was recovered in both arms by a look, its range was no number. That became null here, and the looks after it built on 0 in
-- its place. A bound of null or 0 ruled out nothing: what they said by it is taken back.

update experiment_looks l set look = l.look
  || jsonb_build_object('comparisons', (
    select jsonb_agg(c || jsonb_build_object(
      'lower', coalesce(nullif((c ->> 'lower')::float8, 0), -1), 'upper', coalesce(nullif((c ->> 'upper')::float8, 0), 1)) order by n)
    from jsonb_array_elements(l.look -> 'comparisons') with ordinality as e (c, n)))
  -- The verdict rests on the first one.
  || case when l.look #>> '{verdict,outcome}' <> 'void'
      and jsonb_path_exists(l.look, '$.comparisons[0] ? (@.lower == null || @.lower == 0 || @.upper == null || @.upper == 0)')
    then '{"verdict": {"outcome": "open", "words": "Cannot tell yet: this look had no range.", "weeksMore": null}}'::jsonb
    else '{}' end
where l.look -> 'method' is null
  and jsonb_path_exists(l.look, '$.comparisons[*] ? (@.lower == null || @.lower == 0 || @.upper == null || @.upper == 0)');
