-- The rows of a fleet as sidestep fleet rows writes them. Columns that no query needs are not read.
set preserve_insertion_order = false;
set memory_limit = '1GB';
create view metric_rows as select * from read_json({metrics}, format = 'newline_delimited', ignore_errors = true, columns = {
  run_id: 'VARCHAR', metric: 'VARCHAR', family: 'VARCHAR', cpu: 'VARCHAR', socket: 'BIGINT', mem_node: 'BIGINT',
  higher_is_better: 'BOOLEAN', estimate: 'DOUBLE', quality: 'VARCHAR'});
create view node_rows as select * from read_json({nodes}, format = 'newline_delimited', ignore_errors = true, columns = {
  node: 'VARCHAR', run_id: 'VARCHAR', cpu_model: 'VARCHAR', family: 'BIGINT', model: 'BIGINT', stepping: 'BIGINT',
  microcode: 'VARCHAR', board: 'VARCHAR', bios_vendor: 'VARCHAR', bios_version: 'VARCHAR', bios_date: 'VARCHAR',
  dimm_part: 'VARCHAR', kernel: 'VARCHAR', cmdline_hash: 'VARCHAR', smt: 'VARCHAR', governor: 'VARCHAR', thp: 'VARCHAR',
  hypervisor: 'VARCHAR', started_utc: 'VARCHAR', boot_id: 'VARCHAR', tool_version: 'VARCHAR',
  kernel_set_version: 'BIGINT', preset: 'VARCHAR', experiment: 'VARCHAR', arm: 'VARCHAR', others_share: 'DOUBLE',
  steal_share: 'DOUBLE', partial: 'VARCHAR', serials_hash: 'VARCHAR'});
create view state_rows as select * from read_json({states}, format = 'newline_delimited', ignore_errors = true, columns = {
  run_id: 'VARCHAR', kind: 'VARCHAR', id: 'VARCHAR', workaround: 'VARCHAR', protected: 'VARCHAR', value: 'VARCHAR',
  rate_ppb: 'DOUBLE'});
