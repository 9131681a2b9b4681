-- Where nodes are, from the operator's inventory: a column node, and any others. The first of two lines of one node counts.
create table inventory as
select * exclude (line) from (
  select *, row_number() over (partition by node) as line
  from read_csv({inventory}, header = true, all_varchar = true, delim = {delimiter}, quote = '"', escape = '"',
    null_padding = true))
where line = 1 and node is not null;
create table place as
select node, factor, level
from (unpivot inventory on columns(* exclude (node)) into name factor value level) where trim(level) <> '';
