; made from sources c7a65bd4b9e95a547f7a34faa53c8898852746079d9fc3a4e09da905971e99e5 by make native
@HOT = external constant i64
@TUPLE_ITEMS = external constant i64
@BYTES_DATA = external constant i64
@TUPLE_SIZE = external constant i64
@REFERENCES = external constant i64
@TYPE = external constant i64
@INT_SIZE = external constant i64
@INT_SINGLE = external constant i64
@INT_DIGIT = external constant i64
@CALLBACKS = external constant i64
@WEAK = external constant i64

define ptr @index_kernel(ptr %0, ptr %1) #0 {
  %3 = load i64, ptr @HOT, align 8
  %4 = getelementptr inbounds i8, ptr %0, i64 %3
  %5 = load ptr, ptr %4, align 8
  %6 = icmp eq ptr %5, null
  br i1 %6, label %59, label %7

7:
  %8 = load i64, ptr @TUPLE_ITEMS, align 8
  %9 = getelementptr inbounds i8, ptr %5, i64 %8
  %10 = load ptr, ptr %9, align 8
  %11 = load i64, ptr @BYTES_DATA, align 8
  %12 = getelementptr inbounds i8, ptr %10, i64 %11
  %13 = load ptr, ptr %12, align 8
  %14 = load i64, ptr @TYPE, align 8
  %15 = getelementptr inbounds i8, ptr %1, i64 %14
  %16 = load ptr, ptr %15, align 8
  %17 = getelementptr inbounds i8, ptr %5, i64 %14
  %18 = load ptr, ptr %17, align 8
  %19 = icmp eq ptr %16, %18
  br i1 %19, label %20, label %53

20:
  %21 = load i64, ptr @TUPLE_SIZE, align 8
  %22 = getelementptr inbounds i8, ptr %5, i64 %21
  %23 = load i64, ptr %22, align 8
  %24 = icmp sgt i64 %23, 1
  br i1 %24, label %25, label %53

25:
  %26 = load i64, ptr @REFERENCES, align 8
  %27 = load i64, ptr @CALLBACKS, align 8
  %28 = load i64, ptr @WEAK, align 8
  br label %29

29:
  %30 = phi i64 [ 1, %25 ], [ %51, %50 ]
  %31 = getelementptr inbounds ptr, ptr %9, i64 %30
  %32 = load ptr, ptr %31, align 8
  %33 = getelementptr i8, ptr %31, i64 8
  %34 = load ptr, ptr %33, align 8
  %35 = tail call fastcc zeroext i1 @have_same_items(ptr %13, ptr %1, ptr %34, i64 1) #2
  br i1 %35, label %36, label %50

36:
  %37 = getelementptr inbounds i8, ptr %32, i64 %26
  %38 = load i32, ptr %37, align 4
  %39 = icmp eq i32 %38, 1
  br i1 %39, label %40, label %50

40:
  %41 = getelementptr inbounds i8, ptr %32, i64 %27
  %42 = load ptr, ptr %41, align 8
  %43 = icmp eq ptr %42, null
  br i1 %43, label %44, label %50

44:
  %45 = getelementptr inbounds i8, ptr %32, i64 %28
  %46 = load ptr, ptr %45, align 8
  %47 = icmp eq ptr %46, null
  br i1 %47, label %48, label %50

48:
  %49 = getelementptr inbounds i8, ptr %32, i64 %26
  store i32 2, ptr %49, align 4
  br label %59

50:
  %51 = add i64 %30, 2
  %52 = icmp slt i64 %51, %23
  br i1 %52, label %29, label %53

53:
  %54 = getelementptr inbounds nuw i8, ptr %13, i64 72
  %55 = load ptr, ptr %54, align 8
  %56 = getelementptr inbounds nuw i8, ptr %13, i64 160
  %57 = load ptr, ptr %56, align 8
  %58 = tail call ptr (ptr, ...) %55(ptr %57, ptr %0, ptr %1, ptr null) #3
  br label %59

59:
  %60 = phi ptr [ %32, %48 ], [ %58, %53 ], [ null, %2 ]
  ret ptr %60
}

define internal fastcc zeroext i1 @have_same_items(ptr nocapture readonly %0, ptr nocapture readonly %1, ptr nocapture readonly %2, i64 %3) unnamed_addr #1 {
  %5 = load i64, ptr @TUPLE_SIZE, align 8
  %6 = getelementptr inbounds i8, ptr %1, i64 %5
  %7 = load i64, ptr %6, align 8
  %8 = getelementptr inbounds i8, ptr %2, i64 %5
  %9 = load i64, ptr %8, align 8
  %10 = icmp eq i64 %7, %9
  br i1 %10, label %11, label %63

11:
  %12 = load i64, ptr @TUPLE_ITEMS, align 8
  %13 = getelementptr inbounds i8, ptr %1, i64 %12
  %14 = getelementptr inbounds i8, ptr %2, i64 %12
  %15 = icmp sgt i64 %7, 0
  br i1 %15, label %16, label %63

16:
  %17 = load i64, ptr @TYPE, align 8
  %18 = getelementptr inbounds nuw i8, ptr %0, i64 152
  %19 = getelementptr inbounds i8, ptr %2, i64 %17
  %20 = icmp eq i64 %3, 0
  %21 = load i64, ptr @INT_SIZE, align 8
  %22 = load i64, ptr @INT_SINGLE, align 8
  %23 = load i64, ptr @INT_DIGIT, align 8
  br label %24

24:
  %25 = phi i64 [ 0, %16 ], [ %61, %60 ]
  %26 = getelementptr inbounds nuw ptr, ptr %13, i64 %25
  %27 = load ptr, ptr %26, align 8
  %28 = getelementptr inbounds nuw ptr, ptr %14, i64 %25
  %29 = load ptr, ptr %28, align 8
  %30 = icmp eq ptr %27, %29
  br i1 %30, label %60, label %31

31:
  %32 = getelementptr inbounds i8, ptr %27, i64 %17
  %33 = load ptr, ptr %32, align 8
  %34 = getelementptr inbounds i8, ptr %29, i64 %17
  %35 = load ptr, ptr %34, align 8
  %36 = icmp eq ptr %33, %35
  br i1 %36, label %37, label %63

37:
  %38 = load ptr, ptr %18, align 8
  %39 = icmp eq ptr %33, %38
  br i1 %39, label %40, label %54

40:
  %41 = getelementptr inbounds i8, ptr %27, i64 %21
  %42 = load i64, ptr %41, align 8
  %43 = icmp eq i64 %42, %22
  br i1 %43, label %44, label %63

44:
  %45 = getelementptr inbounds i8, ptr %29, i64 %21
  %46 = load i64, ptr %45, align 8
  %47 = icmp eq i64 %46, %22
  br i1 %47, label %48, label %63

48:
  %49 = getelementptr inbounds i8, ptr %27, i64 %23
  %50 = load i32, ptr %49, align 4
  %51 = getelementptr inbounds i8, ptr %29, i64 %23
  %52 = load i32, ptr %51, align 4
  %53 = icmp eq i32 %50, %52
  br i1 %53, label %60, label %63

54:
  %55 = load ptr, ptr %19, align 8
  %56 = icmp ne ptr %33, %55
  %57 = or i1 %20, %56
  br i1 %57, label %63, label %58

58:
  %59 = tail call fastcc zeroext i1 @have_same_items(ptr %0, ptr %27, ptr %29, i64 0) #2
  br i1 %59, label %60, label %63

60:
  %61 = add nuw nsw i64 %25, 1
  %62 = icmp eq i64 %61, %7
  br i1 %62, label %63, label %24

63:
  %64 = phi i1 [ false, %4 ], [ true, %11 ], [ false, %44 ], [ false, %40 ], [ true, %60 ], [ false, %54 ], [ false, %58 ], [ false, %48 ], [ false, %31 ]
  ret i1 %64
}

attributes #0 = { nounwind "no-builtins" "no-jump-tables"="true" }
attributes #1 = { nofree noinline nosync nounwind memory(read, inaccessiblemem: none) "no-builtins" "no-jump-tables"="true" }
attributes #2 = { nobuiltin "no-builtins" }
attributes #3 = { nobuiltin nounwind "no-builtins" }
