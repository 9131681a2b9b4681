-- The rows of a fleet as sidestep fleet rows --parquet writes them.
set preserve_insertion_order = false;
set memory_limit = '1GB';
create view metric_rows as select * from read_parquet({metrics});
create view node_rows as select * from read_parquet({nodes});
create view state_rows as select * from read_parquet({states});
